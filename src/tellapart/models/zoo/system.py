"""The interface of a trainable system: images and texts become codes, and codes are matched.

A system is a torch module that is built from its own config, a vocabulary and a feature space. It
encodes both sides separately and matches codes in blocks, so that a whole grid of images and texts
encodes each side once. The task that the system names defines its training (the loss, the
validation measure).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tellapart import registry
from tellapart.image_features.store import FeatureSpace, ImageArrays
from tellapart.text.vocabulary import PAD, Vocabulary

Codes = tuple[Tensor, ...]
"""The output of an encoder: tensors with one row per image, or per text."""


@dataclass(frozen=True, slots=True)
class ImageInputs:
    """Images as inputs: (n, d), (n, regions, d), and how many regions are real."""

    whole: Tensor
    regions: Tensor
    counts: Tensor

    @classmethod
    def of(cls, arrays: ImageArrays, device: torch.device | str = "cpu") -> ImageInputs:
        """Features from a store, in float32."""
        whole, regions, counts = (
            torch.from_numpy(np.ascontiguousarray(one)).to(device)
            for one in (arrays.whole, arrays.regions, arrays.counts)
        )
        return cls(whole.float(), regions.float(), counts)

    def to(self, device: torch.device) -> ImageInputs:
        """The images on another device."""
        return ImageInputs(self.whole.to(device), self.regions.to(device), self.counts.to(device))

    def mask(self) -> Tensor:
        """Which regions are real, (n, regions)."""
        places = torch.arange(self.regions.shape[1], device=self.counts.device)
        return places < self.counts[:, None]


@dataclass(frozen=True, slots=True)
class TextInputs:
    """Captions as word numbers, (m, longest), and how many words are real."""

    words: Tensor
    lengths: Tensor

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]], device: torch.device | str = "cpu") -> TextInputs:
        """From lists of numbers, padded to the longest."""
        lengths = np.array([len(one) for one in lists], np.int64)
        words = np.full((len(lists), int(lengths.max(initial=1))), PAD, np.int64)
        for row, one in enumerate(lists):
            words[row, : len(one)] = one
        return cls(torch.from_numpy(words).to(device), torch.from_numpy(lengths).to(device))

    def to(self, device: torch.device) -> TextInputs:
        """The captions on another device."""
        return TextInputs(self.words.to(device), self.lengths.to(device))

    def mask(self) -> Tensor:
        """Which words are real, (m, longest)."""
        places = torch.arange(self.words.shape[1], device=self.words.device)
        return places < self.lengths[:, None]


@dataclass(frozen=True, slots=True)
class Negatives:
    """Hard negatives of a batch: false captions, and images that are not of its captions.

    `owner` is the row of the image made for each false caption, counting the batch's images first
    and `images` after them (-1: none was made).
    """

    texts: TextInputs
    owner: Tensor
    images: ImageInputs | None

    def to(self, device: torch.device) -> Negatives:
        """The negatives on another device."""
        images = self.images and self.images.to(device)
        return Negatives(self.texts.to(device), self.owner.to(device), images)


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Distinct images and their captions; `owner` is each caption's row among the images.

    `numbers` are the images' numbers in the training set, for tasks that need a lookup; `false` are
    hard negatives, if there are any.
    """

    images: ImageInputs
    texts: TextInputs
    owner: Tensor
    numbers: Tensor
    false: Negatives | None = field(default=None, kw_only=True)

    def to(self, device: torch.device) -> Minibatch:
        """The batch on another device."""
        return Minibatch(
            self.images.to(device),
            self.texts.to(device),
            self.owner.to(device),
            self.numbers,
            false=self.false and self.false.to(device),
        )


class System(nn.Module):
    """The base of all systems.

    `Config` is a frozen dataclass whose defaults are the published settings. `needs_regions` says
    whether region vectors are read at all; `dual` means that a score is the inner product of two
    codes; `most_pairs` is the number of pairs matched in one call, a few seconds' work, so that the
    time for a whole grid can be estimated early.
    """

    Config: ClassVar[type[Any]]
    task: ClassVar[str] = "retrieval"
    needs_regions: ClassVar[bool] = True
    dual: ClassVar[bool] = False
    most_pairs: ClassVar[int] = 1 << 16

    def __init__(self, config: Any, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__()
        self.config, self.vocabulary, self.space = config, vocabulary, space

    def encode_images(self, images: ImageInputs) -> Codes:
        """Codes of images; an image's code does not depend on the rest of the batch."""
        raise NotImplementedError

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Codes of texts; a text's code does not depend on its padding."""
        raise NotImplementedError

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """How well each text fits each image, (n, m); higher is better."""
        if not self.dual:
            raise NotImplementedError
        with torch.autocast(images[0].device.type, enabled=False):  # cosines in full precision
            return images[0].float() @ texts[0].float().T

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """How well text k fits image k, (n,)."""
        rows = [
            self.match(tuple(one[k : k + 1] for one in images), tuple(t[k : k + 1] for t in texts))
            for k in range(len(images[0]))
        ]
        return torch.cat(rows).reshape(-1)

    def forward(self, batch: Minibatch) -> Tensor:
        """The input of the task's loss; for retrieval, the grid of the batch, (n, m)."""
        return self.match(self.encode_images(batch.images), self.encode_texts(batch.texts))


def system_class(name: str) -> type[System]:
    """The class registered under a name."""
    found = registry.systems.get(name)
    loaded: type[System] = found.load() if hasattr(found, "load") else found
    return loaded
