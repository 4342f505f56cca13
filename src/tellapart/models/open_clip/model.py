"""`open_clip`: CLIP-like models of the open_clip library."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tellapart import seeds
from tellapart.errors import TellapartError
from tellapart.models.model import Facts, Floats
from tellapart.models.names import canonical
from tellapart.models.open_clip.source import Source, source_of
from tellapart.models.open_clip.text import encode_text, longest
from tellapart.models.torch_tools import (
    chunks,
    device_of,
    dtype_of,
    fingerprint,
    put_back,
    torch_library,
    unit_rows,
)
from tellapart.pictures import Picture

if TYPE_CHECKING:
    import torch

PRECISION = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
IMAGES, TEXTS = 32, 64
"""How many go through a tower at a time."""


class OpenClip:
    """CLIP-like models of open_clip, such as open_clip:ViT-B-32/openai (activation from the tag).

    Also `open_clip:ARCH/path/to/checkpoint.pt?activation=gelu`, `open_clip:./folder` (with
    `open_clip_config.json`) and `open_clip:hf-hub:ORG/NAME`. A dual encoder.
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
        told = {"activation": activation, "dtype": dtype, "device": device}
        self.facts = Facts(
            name=canonical("open_clip", told, arch_tag),
            options={"activation": source.activation, "dtype": dtype, "device": self._device},
            weights=fingerprint(self._model),
            preprocessing=seeds.digest(
                asdict(open_clip.transform.PreprocessCfg(**self._model.visual.preprocess_cfg)),
                str(self._transform),
                _described(self._tokenizer),
            ),
            dtype=dtype,
        )

    def embed_images(self, pictures: Sequence[Picture]) -> Floats:
        """One row of unit length a picture, through the model's own transform."""
        import torch

        rows = []
        for part in chunks(len(pictures), IMAGES):
            pixels = torch.stack([self._transform(pictures[k].open()) for k in part])
            with torch.inference_mode():
                seen = pixels.to(device=self._device, dtype=self._dtype)
                rows.append(unit_rows(self._model.encode_image(seen)))
        return put_back(rows, range(len(pictures)))

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """One row of unit length a text, through the model's own tokenizer."""
        import torch

        if not texts:
            return put_back([], [])
        tokens: torch.Tensor = self._tokenizer(list(texts))
        lengths = longest(self._model, tokens)
        # Texts of like length go together, so that trimming saves most.
        order = sorted(range(len(texts)), key=lambda k: lengths[k])
        rows = []
        for part in chunks(len(order), TEXTS):
            some = tokens[[order[k] for k in part]].to(self._device)
            with torch.inference_mode():
                rows.append(unit_rows(encode_text(self._model, some)))
        return put_back(rows, order)


def _load(open_clip: Any, source: Source, dtype: str, device: str) -> tuple[Any, Any, Any]:
    try:
        with warnings.catch_warnings():
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
        raise TellapartError(
            f"open_clip cannot load {'/'.join(filter(None, (source.model, source.pretrained)))}",
            where=(str(error).strip() or type(error).__name__).splitlines()[0][:300],
            allowed="weights of that architecture, in the cache (HF_HOME) or within reach",
            todo="with HF_HUB_OFFLINE set, fetch the weights beforehand or name a checkpoint file",
        ) from error
    return model.eval(), transform, tokenizer


def _described(tokenizer: Any) -> list[Any]:
    """What a tokenizer does, as far as it can be told: its class, length, cleaning, vocabulary."""
    inner = getattr(tokenizer, "tokenizer", tokenizer)
    vocabulary = getattr(inner, "encoder", None) or getattr(inner, "get_vocab", dict)()
    clean = getattr(tokenizer, "clean_fn", None)
    return [
        type(tokenizer).__name__,
        tokenizer.context_length,
        getattr(clean, "__name__", ""),
        seeds.digest(sorted(vocabulary.items())),
    ]
