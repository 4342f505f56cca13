"""`storybook`: the small model that comes with the package, trained on the drawn world."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.models.model import Floats, ModelInfo
from tellapart.pictures import Picture
from tellapart.text.tokens import tokens

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

SIDE = 112
"""Pixels of the side of what the image tower sees."""
MOST_WORDS = 40
"""Words of a caption beyond this number are not read."""
PAD, UNKNOWN = 0, 1
"""The ids of no word and of a word that is not in the vocabulary; the words follow."""
FILES = ("image.onnx", "text.onnx", "vocabulary.json")
# Part of what runs record, so that it keeps the name that the module of `tokens` had at first.
PREPROCESSING = (
    f"RGB, squeezed to {SIDE} x {SIDE} by Pillow's BOX filter, uint8; "
    f"lower-case words of tellapart.text.words, at most {MOST_WORDS}, unknown ones as one word"
)

Pixels = npt.NDArray[np.uint8]
Ids = npt.NDArray[np.int64]


def pixels(picture: PILImage) -> Pixels:
    """What the image tower sees of a picture: shape (SIDE, SIDE, 3)."""
    from PIL.Image import Resampling

    return np.asarray(picture.convert("RGB").resize((SIDE, SIDE), Resampling.BOX), np.uint8)


def word_ids(texts: Sequence[str], vocabulary: Sequence[str]) -> Ids:
    """What the text tower sees of some texts: shape (n, longest), filled up with `PAD`.

    >>> word_ids(["A dog.", "A big dog!"], ["a", "dog"])
    array([[2, 3, 0],
           [2, 1, 3]])
    """
    number = {word: k for k, word in enumerate(vocabulary, UNKNOWN + 1)}
    rows = [[number.get(w, UNKNOWN) for w in tokens(text)[:MOST_WORDS]] for text in texts]
    ids = np.full((len(rows), max([1, *map(len, rows)])), PAD, np.int64)
    for row, words in zip(ids, rows, strict=True):
        row[: len(words)] = words
    return ids


class Storybook:
    """A small network that learned to match drawings of the built-in world with captions.

    A dual encoder of two million parameters that runs on any processor. It knows the world's
    backgrounds and colours well, numbers, sizes and things less well, and takes no notice of the
    order of words: it cannot say which of two things is red, or on the left. How it was trained
    and how it scores is in `docs/storybook.md`.
    """

    def __init__(self) -> None:
        self._image, self._text = _session("image.onnx"), _session("text.onnx")
        self._vocabulary: list[str] = json.loads(_bytes("vocabulary.json"))
        self.facts = ModelInfo(
            "storybook",
            weights=fingerprint(),
            preprocessing=seeds.digest(PREPROCESSING),
            dtype="float32",
        )

    def embed_images(self, pictures: Sequence[Picture]) -> Floats:
        """One row of unit length a picture."""
        seen = [pixels(picture.open()) for picture in pictures]
        parts = [np.stack(seen[k : k + 32]) for k in range(0, len(seen), 32)]
        return _joined([self._image.run(None, {"pixels": part})[0] for part in parts])

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """One row of unit length a text."""
        # Texts of like length go together, so that little is spent on padding.
        order = sorted(range(len(texts)), key=lambda k: len(tokens(texts[k])))
        parts = [order[k : k + 64] for k in range(0, len(order), 64)]
        rows = _joined(
            [
                self._text.run(None, {"words": word_ids([texts[k] for k in p], self._vocabulary)})[
                    0
                ]
                for p in parts
            ]
        )
        placed = np.empty_like(rows)
        placed[order] = rows
        return placed


def fingerprint() -> str:
    """The sha256 of the model's files."""
    import hashlib

    return seeds.digest(*(hashlib.sha256(_bytes(name)).hexdigest() for name in FILES))


def _joined(rows: list[npt.NDArray[np.float32]]) -> npt.NDArray[np.float32]:
    return np.concatenate(rows) if rows else np.empty((0, 0), np.float32)


@cache
def _bytes(name: str) -> bytes:
    return (files("tellapart.models") / "storybook_files" / name).read_bytes()


@cache
def _session(name: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    options.inter_op_num_threads = 1
    options.use_deterministic_compute = True
    return onnxruntime.InferenceSession(_bytes(name), options, providers=["CPUExecutionProvider"])
