"""A transformers checkpoint, loaded from the hub, its cache or a folder; and its inputs.

`HF_HOME` and `HF_HUB_OFFLINE` work as in the library; code from a repository is never run
(`trust_remote_code` stays off).
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart import seeds
from tellapart.errors import BadInput, TellapartError, need
from tellapart.models.model import ModelInfo
from tellapart.pictures import Picture
from tellapart.torch_tools import chunks, device_of, dtype_of, fingerprint, torch_library

if TYPE_CHECKING:
    import torch

PAIRS = 32
"""Pairs per decoder batch: its scores of all words at all positions need much memory."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint as a model string names it: a hub name or folder, dtype and device."""

    name: str
    dtype: str
    device: str
    revision: str

    @classmethod
    def of(cls, name: str, dtype: str, device: str, revision: str) -> Checkpoint:
        """From a model's options; raises for a dtype or device that cannot be used."""
        transformers_library()
        dtype_of(dtype)
        return cls(name, dtype, device_of(device), revision)

    @property
    def place(self) -> str:
        """The name for the library; for a GGUF file, its folder or repository."""
        if self.name.startswith((".", "/", "~")):
            folder = Path(self.name).expanduser()
            if self.is_gguf and folder.is_file():
                return str(folder.parent)
            if not folder.is_dir():
                raise BadInput(
                    f"the {'file' if self.is_gguf else 'folder'} does not exist",
                    where=str(folder),
                    allowed="a folder with config.json, weights and the processor's files, or a "
                    ".gguf file",
                )
            return str(folder)
        return self.name.rpartition("/")[0] if self.is_gguf else self.name

    @property
    def is_gguf(self) -> bool:
        """Whether the whole model is one quantised file."""
        return self.name.endswith(".gguf")


def transformers_library() -> Any:
    """The transformers library."""
    return torch_library("transformers")


def fetch(kind: str, checkpoint: Checkpoint, **more: Any) -> Any:
    """`from_pretrained` of a class of the library, with errors that explain what is wrong."""
    load = getattr(transformers_library(), kind).from_pretrained
    if checkpoint.revision:
        more["revision"] = checkpoint.revision
    if checkpoint.is_gguf:
        for package in ("gguf", "accelerate"):
            need(package, "gguf")
        more["gguf_file"] = Path(checkpoint.name).name
    try:
        return load(checkpoint.place, **more)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0][:300] if lines else type(error).__name__
        offline = os.environ.get("HF_HUB_OFFLINE", "").lower() in ("1", "true", "yes", "on")
        home = os.environ.get("HF_HOME", "~/.cache/huggingface")
        raise TellapartError(
            f"the model {checkpoint.name!r} cannot be loaded: {reason}",
            where=f"{home}, without the network (HF_HUB_OFFLINE is set)" if offline else "",
            allowed="a name on the hub such as openai/clip-vit-base-patch32, or a folder "
            "(./folder) with config.json, weights and the processor's files",
            todo="download it on a machine with a network: hf download ORG/NAME"
            if offline
            else "check the name and the network; HF_TOKEN is needed for gated models",
        ) from error


def weights_of(kind: str, checkpoint: Checkpoint) -> Any:
    """A model with its weights, ready to run; raises if a head would have random weights."""
    version = tuple(int(part) for part in transformers_library().__version__.split(".")[:2])
    dtype = {"dtype" if version >= (4, 56) else "torch_dtype": dtype_of(checkpoint.dtype)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, info = fetch(kind, checkpoint, output_loading_info=True, **dtype)
    missing = sorted(k for k in info["missing_keys"] if not k.endswith("position_ids"))
    if missing:
        raise TellapartError(
            f"{checkpoint.name!r} has no weights for {len(missing)} parts of {kind}: "
            f"{', '.join(missing[:3])}; the library would fill them with random numbers",
            allowed="a checkpoint that was trained with this head",
            todo="choose another head= or another checkpoint",
        )
    return model.to(checkpoint.device).eval()


def loaded_info(info: ModelInfo, checkpoint: Checkpoint, model: Any, *processors: Any) -> ModelInfo:
    """The record of a model with the hashes of its weights and of its processors' settings."""
    preprocessing = seeds.digest([_settings(part) for part in processors])
    return replace(
        info, weights=fingerprint(model), preprocessing=preprocessing, dtype=checkpoint.dtype
    )


def _settings(part: Any) -> Any:
    """A processor's class and settings, without paths and caches."""
    if isinstance(part, str | int | float | list | tuple | dict):
        return part
    if hasattr(part, "get_vocab"):
        vocabulary = sorted(part.get_vocab().items())
        sides = [part.padding_side, part.truncation_side, list(part.model_input_names)]
        return [type(part).__name__, seeds.digest(vocabulary), sides]
    settings = part.to_dict() if hasattr(part, "to_dict") else {}
    lasting = {k: v for k, v in settings.items() if k not in ("name_or_path", "_commit_hash")}

    def plain(value: Any) -> Any:
        return sorted(map(str, value)) if isinstance(value, set | frozenset) else str(value)

    return [type(part).__name__, json.loads(json.dumps(lasting, default=plain, sort_keys=True))]


def alike(keys: Sequence[Hashable], size: int = PAIRS) -> Iterator[list[int]]:
    """Groups of up to `size` positions with equal keys: texts of one length need no padding.

    Padding would change a decoder's scores, so batches are split by length here and nowhere else.

    >>> list(alike([3, 2, 3, 3], size=2))
    [[0, 2], [3], [1]]
    """
    groups: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    for group in groups.values():
        for part in chunks(len(group), size):
            yield [group[k] for k in part]


def pixels_of(
    pictures: Iterable[Picture], image_processor: Any, checkpoint: Checkpoint
) -> torch.Tensor:
    """Pictures as inputs of the vision tower, on the model's device and in its dtype."""
    opened = [picture.open() for picture in pictures]
    pixels: torch.Tensor = image_processor(images=opened, return_tensors="pt").pixel_values
    return pixels.to(checkpoint.device, dtype_of(checkpoint.dtype))


def see_once(
    pictures: Sequence[Picture],
    image_processor: Any,
    checkpoint: Checkpoint,
    see: Callable[[torch.Tensor], torch.Tensor],
) -> dict[str, torch.Tensor]:
    """The vision tower's output for each distinct picture, by id."""
    import torch

    distinct = {picture.id: picture for picture in pictures}
    if not distinct:
        return {}
    with torch.inference_mode():
        seen = see(pixels_of(distinct.values(), image_processor, checkpoint))
    return dict(zip(distinct, seen, strict=True))


def token_ids(tokenizer: Any, texts: Sequence[str], length: int) -> list[list[int]]:
    """The tokens of each text with the tokenizer's own begin and end tokens, truncated."""
    if not texts:
        return []
    return [*map(list, tokenizer(list(texts), truncation=True, max_length=length).input_ids)]


def log_probabilities(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The log-probability of each target token, shape (n, tokens); float64 for exact sums."""
    chosen = logits.double().log_softmax(dim=-1).gather(-1, targets.unsqueeze(-1))
    return chosen.squeeze(-1)


def to_device(inputs: Any, checkpoint: Checkpoint) -> dict[str, torch.Tensor]:
    """Inputs on the model's device, pixels in its dtype."""
    dtype = dtype_of(checkpoint.dtype)
    return {
        name: value.to(checkpoint.device, dtype)
        if value.is_floating_point()
        else value.to(checkpoint.device)
        for name, value in inputs.items()
    }


def text_length(config: Any, tokenizer: Any) -> int:
    """How many tokens the text tower accepts; tokenizers saved without it claim 10 ** 30."""
    text = getattr(config, "text_config", None) or getattr(config, "decoder", None) or config
    return int(min(text.max_position_embeddings, tokenizer.model_max_length))
