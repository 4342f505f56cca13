"""`open_clip`: CLIP-like models of the open_clip library.

OpenAI's weights and some others were trained with QuickGELU; with GELU they lose points, with only
a warning (open_clip since 2.29). So the activation follows from the tag, and if nothing says which
it is, the model is refused.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from tellapart import seeds
from tellapart.benchmark.homes import home
from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.models.model import NO_ROWS, ModelInfo, NamedModel
from tellapart.models.names import canonical
from tellapart.pictures import Picture
from tellapart.torch_tools import (
    device_of,
    dtype_of,
    fingerprint,
    torch_library,
    unit_rows,
)
from tellapart.types import Floats32

if TYPE_CHECKING:
    import torch


PRECISION = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
ACTIVATIONS = ("gelu", "quickgelu")
FOLDER_CONFIG = "open_clip_config.json"
EXAMPLES = "ARCH/TAG, ARCH/path/to/checkpoint.pt, ./folder or hf-hub:ORG/NAME"


PUBLISHED = {
    "negclip": "negclip.pth",
    "gnm": "gnm.pt",
    "ce-clip": "ce-clip.pt",
    "clip-coco": "clip-coco.pt",
    "clip-trohn-text": "clip-trohn-text.pt",
    "clip-trohn-img": "clip-trohn-img.pt",
}
"""Published fine-tunes of OpenAI's ViT-B/32, all with its QuickGELU, and the file of each."""
CHECKPOINTS = "checkpoints"
"""The folder under `TELLAPART_HOME` that is searched for them."""


class OpenClip(NamedModel):
    """CLIP-like models of open_clip, such as open_clip:ViT-B-32/openai (activation from the tag).

    Also `open_clip:ARCH/path/to/checkpoint.pt?activation=gelu`, `open_clip:./folder` (with
    `open_clip_config.json`), `open_clip:hf-hub:ORG/NAME`, and published fine-tunes whose file is
    there: `open_clip:negclip`, `open_clip:negclip/path/to/negclip.pth`. A dual encoder.
    """

    def __init__(
        self, arch_tag: str, activation: str = "", dtype: str = "float32", device: str = "auto"
    ) -> None:
        open_clip = torch_library("open_clip")
        dtype_of(dtype)
        self._device = device_of(device)
        source = source_of(open_clip, arch_tag, activation)
        self._model, self._transform, self._tokenizer = _load(
            open_clip, source, dtype, self._device
        )
        self._dtype = open_clip.get_input_dtype(PRECISION[dtype]) or dtype_of("float32")
        options = {"activation": activation, "dtype": dtype, "device": device}
        self.facts = ModelInfo(
            name=canonical("open_clip", options, arch_tag),
            options={"activation": source.activation, "dtype": dtype, "device": self._device},
            weights=fingerprint(self._model),
            preprocessing=seeds.digest(
                asdict(open_clip.transform.PreprocessCfg(**self._model.visual.preprocess_cfg)),
                str(self._transform),
                _described(self._tokenizer),
            ),
            dtype=dtype,
        )

    def embed_images(self, pictures: Sequence[Picture]) -> Floats32:
        """One unit-length row per picture, through the model's own transform."""
        import torch

        if not pictures:
            return NO_ROWS
        pixels = torch.stack([self._transform(picture.open()) for picture in pictures])
        with torch.inference_mode():
            seen = pixels.to(device=self._device, dtype=self._dtype)
            return unit_rows(self._model.encode_image(seen))

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """One unit-length row per text, through the model's own tokenizer."""
        import torch

        if not texts:
            return NO_ROWS
        tokens: torch.Tensor = self._tokenizer(list(texts))
        with torch.inference_mode():
            return unit_rows(encode_text(self._model, tokens.to(self._device)))


def _load(open_clip: Any, source: ClipSource, dtype: str, device: str) -> tuple[Any, Any, Any]:
    try:
        with warnings.catch_warnings(), _no_root_log():
            warnings.simplefilter("ignore")
            model, transform = open_clip.create_model_from_pretrained(
                source.model,
                pretrained=source.pretrained,
                precision=PRECISION[dtype],
                device=device,
                force_quick_gelu=source.activation == "quickgelu",
            )
            tokenizer = open_clip.get_tokenizer(source.model)
    except (RuntimeError, OSError, KeyError, AssertionError) as error:
        why = str(error).strip() or type(error).__name__
        raise TellapartError(
            f"open_clip cannot load {'/'.join(filter(None, (source.model, source.pretrained)))}",
            where=shorten(why.splitlines()[0], 300, placeholder=" ..."),
            allowed="weights of that architecture, in the cache (HF_HOME) or online",
            todo="check the network; without one (or with HF_HUB_OFFLINE) download the weights "
            "first, or name a checkpoint file",
        ) from error
    return model.eval(), transform, tokenizer


@contextmanager
def _no_root_log() -> Iterator[None]:
    """Keep open_clip from printing through the root logger what the error says anyway.

    Its first message there would also have every later line of other libraries printed twice.
    """
    root, mute = logging.getLogger(), logging.NullHandler()
    root.addHandler(mute)
    try:
        yield
    finally:
        root.removeHandler(mute)


def _described(tokenizer: Any) -> list[Any]:
    """A tokenizer's settings as far as known: its class, length, cleaning, vocabulary."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    vocabulary = getattr(inner, "encoder", None) or getattr(inner, "get_vocab", dict)()
    clean = getattr(tokenizer, "clean_fn", None)
    return [
        type(tokenizer).__name__,
        tokenizer.context_length,
        getattr(clean, "__name__", ""),
        seeds.digest(sorted(vocabulary.items())),
    ]


@dataclass(frozen=True, slots=True)
class ClipSource:
    """The arguments for open_clip: its name of the model, the weights, the activation."""

    model: str
    pretrained: str | None
    activation: str


def source_of(open_clip: Any, text: str, activation: str = "") -> ClipSource:
    """Parse the string after `open_clip:`; raises if the activation is not known."""
    if activation and activation not in ACTIVATIONS:
        raise BadInput(
            f"activation={activation} is not an activation", allowed=" or ".join(ACTIVATIONS)
        )
    if text.startswith("hf-hub:"):
        quick = bool(_hub_config(open_clip, text).get("quick_gelu"))
        return ClipSource(text, None, _agreed(quick, activation, text))
    if text.startswith((".", "/", "~")) or (Path(text) / FOLDER_CONFIG).is_file():
        return _folder(Path(text).expanduser(), activation)
    arch, _, weights = text.partition("/")
    if arch in PUBLISHED:
        return _published(arch, weights, activation)
    config = open_clip.get_model_config(arch)
    if config is None:
        raise UnknownName("architecture of open_clip", arch, open_clip.list_models())
    tag = open_clip.get_pretrained_cfg(arch, weights)
    if tag:
        quick = bool(tag.get("quick_gelu") or config.get("quick_gelu") or weights == "openai")
        return ClipSource(arch, weights, _agreed(quick, activation, text))
    return _checkpoint(open_clip, arch, weights, activation, bool(config.get("quick_gelu")))


def _published(name: str, weights: str, activation: str) -> ClipSource:
    """A published fine-tune, whose activation is known, by its file."""
    path = Path(weights).expanduser() if weights else home() / CHECKPOINTS / PUBLISHED[name]
    if not path.is_file():
        raise BadInput(
            f"the file of {name} does not exist",
            where=str(path),
            allowed=f"open_clip:{name}/path/to/its/file, or the file at this path",
            todo="get it from its authors; it is not downloaded automatically",
        )
    return ClipSource("ViT-B-32", str(path), _agreed(True, activation, name))


def _hub_config(open_clip: Any, text: str) -> Any:
    try:
        return open_clip.get_model_config(text)
    except OSError as error:
        raise TellapartError(
            f"{text} cannot be reached",
            where=str(error).strip().splitlines()[0][:300],
            allowed="a model of open_clip on the Hugging Face hub or in its cache (HF_HOME)",
            todo="check the name and the network",
        ) from error


def _folder(folder: Path, activation: str) -> ClipSource:
    try:
        config = json.loads((folder / FOLDER_CONFIG).read_text(encoding="utf-8"))
        quick = bool(config["model_cfg"].get("quick_gelu"))
    except (OSError, ValueError, KeyError):
        raise BadInput(
            "the folder has no open_clip model",
            where=str(folder),
            allowed=f"a folder with {FOLDER_CONFIG} (including model_cfg) and the weights",
            todo="save the model with open_clip.push_to_hf_hub.save_for_hf",
        ) from None
    return ClipSource(f"local-dir:{folder}", None, _agreed(quick, activation, str(folder)))


def _checkpoint(
    open_clip: Any, arch: str, weights: str, activation: str, quick: bool
) -> ClipSource:
    path = Path(weights).expanduser()
    if not weights or not path.is_file():
        tags = open_clip.list_pretrained_tags_by_model(arch)
        raise BadInput(
            f"{weights!r} is neither a tag of {arch} nor a file"
            if weights
            else f"{arch} names an architecture but no weights",
            allowed=f"open_clip:{arch}/TAG with a tag of: {', '.join(tags) or 'none known'}; "
            f"or open_clip:{arch}/path/to/checkpoint.pt",
        )
    if quick:  # the architecture's own name says so
        activation = _agreed(True, activation, arch)
    if not activation:
        raise BadInput(
            "a bare checkpoint does not say which activation it was trained with",
            where=str(path),
            allowed="activation=gelu or activation=quickgelu (OpenAI's weights and models "
            "fine-tuned from them: quickgelu)",
            todo=f"open_clip:{arch}/{weights}?activation=...",
        )
    return ClipSource(arch, str(path), activation)


def _agreed(quick: bool, asked: str, where: str) -> str:
    """The known activation; asking for another is an error."""
    known = "quickgelu" if quick else "gelu"
    if asked and asked != known:
        raise BadInput(
            f"activation={asked} is wrong: these weights were trained with {known}",
            where=where,
            todo="leave the option out",
        )
    return known


def trims(model: Any) -> bool:
    """Whether a model's text tower may be given texts trimmed to their length.

    In a tower with a causal mask, nothing after the end token affects the output there, so the
    padding after it can be left out. open_clip's own `encode_text` accepts only the full length.
    Other towers (SigLIP, where all tokens see all 64, including padding; CoCa; Hugging Face towers)
    get the full length.
    """
    tower = getattr(model, "text", model)
    parts = ("token_embedding", "positional_embedding", "transformer", "ln_final")
    return (
        all(hasattr(tower, part) for part in parts)
        and getattr(tower, "attn_mask", None) is not None
        and getattr(tower, "cls_emb", None) is None
        and not getattr(tower, "use_pad_mask", False)
        and not getattr(tower, "output_tokens", False)
        and _pool(tower) in ("argmax", "eos")
        and hasattr(model, "encode_text")
        and type(model).__name__ in ("CLIP", "CustomTextCLIP")
    )


def encode_text(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    """The result of `model.encode_text(tokens)`, without computing the padding."""
    if not trims(model):
        full: torch.Tensor = model.encode_text(tokens)
        return full
    import torch

    tower = getattr(model, "text", model)
    ends = _ends(tower, tokens)
    length = int(ends.max()) + 1
    dtype = tower.transformer.get_cast_dtype()
    x = tower.token_embedding(tokens[:, :length]).to(dtype)
    x = x + tower.positional_embedding[:length].to(dtype)
    x = tower.transformer(x, attn_mask=tower.attn_mask[:length, :length])
    pooled: torch.Tensor = tower.ln_final(x)[torch.arange(len(tokens), device=x.device), ends]
    projection = tower.text_projection
    if projection is None:
        return pooled
    projected: torch.Tensor = projection(pooled) if callable(projection) else pooled @ projection
    return projected


def _pool(tower: Any) -> str:
    return str(getattr(tower, "text_pool_type", getattr(tower, "pool_type", "")))


def _ends(tower: Any, tokens: torch.Tensor) -> torch.Tensor:
    if _pool(tower) == "argmax":
        return tokens.argmax(dim=-1)
    end = tokens.new_tensor(getattr(tower, "text_eos_id", getattr(tower, "eos_id", None)))
    return tokens.eq(end).int().argmax(dim=-1)
