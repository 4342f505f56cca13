"""What ONNX encoders are fed with: pixels and tokens, as `model.json` describes them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.models.needing import need
from tellapart.models.onnx.folder import ImageSide, Tokenizer
from tellapart.models.storybook import PAD, word_ids

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Ids = npt.NDArray[np.int64]


def pixels(picture: PILImage, told: ImageSide) -> npt.NDArray[Any]:
    """One picture as the encoder takes it.

    `squash` resizes to the size whatever the shape; `shortest` brings the shorter side to it and
    cuts out the middle.
    """
    from PIL.Image import Resampling

    width, height = told.size
    kind = Resampling[told.filter.upper()]
    picture = picture.convert("RGB")
    if told.resize == "shortest":
        scale = max(width / picture.width, height / picture.height)
        wide = max(width, round(picture.width * scale))
        high = max(height, round(picture.height * scale))
        left, top = (wide - width) // 2, (high - height) // 2
        resized = picture.resize((wide, high), kind)
        seen: npt.NDArray[Any] = np.asarray(
            resized.crop((left, top, left + width, top + height)), np.uint8
        )
    else:
        seen = np.asarray(picture.resize((width, height), kind), np.uint8)
    if told.dtype == "float32":
        mean, std = np.asarray(told.mean, np.float32), np.asarray(told.std, np.float32)
        seen = (seen.astype(np.float32) / np.float32(255) - mean) / std
    return np.ascontiguousarray(seen.transpose(2, 0, 1)) if told.layout == "NCHW" else seen


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Texts to (ids, mask), both of shape (n, longest); and a hash of how."""

    fingerprint: str
    call: Callable[[Sequence[str]], Ids]
    pad: int

    def __call__(self, texts: Sequence[str]) -> tuple[Ids, Ids]:
        """The tokens, and 1 where they are no padding."""
        ids = self.call(texts)
        return ids, (ids != self.pad).astype(np.int64)


def tokenizer_of(told: Tokenizer, folder: Path) -> Tokenize:
    """The tokenizer that a description names."""
    stored = (folder / told.file).read_bytes()
    if told.kind == "words":
        words: list[str] = json.loads(stored)
        return Tokenize(seeds.digest(words), lambda texts: word_ids(texts, words), PAD)
    library = need("tokenizers", "models").Tokenizer.from_str(stored.decode("utf-8"))
    library.enable_truncation(max_length=told.length)
    library.enable_padding(pad_id=told.pad, length=told.length if told.full else None)

    def call(texts: Sequence[str]) -> Ids:
        return np.array([row.ids for row in library.encode_batch(list(texts))], np.int64)

    return Tokenize(seeds.digest(stored.decode("utf-8")), call, told.pad)
