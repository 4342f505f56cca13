"""Batches of training pairs: pictures and texts as encoder inputs, shared by processes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.errors import BadInput
from tellapart.models.zoo.pixel_encoder import PixelEncoder, Read
from tellapart.training.tuning.pairs import TrainingPairs
from tellapart.types import Ints


@dataclass(frozen=True, slots=True)
class PairBatch:
    """One process's share of a batch, and the size of the whole.

    `pixels` and `texts` are this process's share. `owner` is each caption's row among all images of
    the batch; texts after these are negatives. `images` and `captions` count the whole batch.
    """

    pixels: Tensor
    texts: Read
    owner: Tensor
    images: int
    captions: int

    def to(self, device: torch.device) -> PairBatch:
        """The batch on another device."""
        read = tuple(one.to(device) for one in self.texts)
        return PairBatch(
            self.pixels.to(device), read, self.owner.to(device), self.images, self.captions
        )


def share_of(number: int, rank: int, count: int) -> slice:
    """The part of `number` rows for a process; parts differ by at most one.

    >>> [share_of(5, rank, 2) for rank in (0, 1)]
    [slice(0, 3, None), slice(3, 5, None)]
    """
    whole, rest = divmod(number, count)
    begin = rank * whole + min(rank, rest)
    return slice(begin, begin + whole + (rank < rest))


class PairSet:
    """Pairs for training or validating an encoder.

    Pictures are prepared once and kept as long as they fit in `keep_gb`; there is no augmentation.
    """

    def __init__(
        self,
        pairs: TrainingPairs,
        encoder: PixelEncoder,
        negatives: str,
        *,
        share: tuple[int, int] = (0, 1),
        keep_gb: float = 0.0,
    ) -> None:
        self.pairs, self.encoder, self.negatives, self.share = pairs, encoder, negatives, share
        ids = pairs.images
        number = {one: k for k, one in enumerate(ids)}
        self._pictures = [pairs.pictures[one] for one in ids]
        self._shown = np.array([number[one] for one in pairs.rows["image"]])
        others = pairs.rows["neg_image"].to_list()
        self._other = np.array([number.get(one, -1) if one else -1 for one in others])
        self._titles = pairs.rows["title"].to_list()
        self._false = pairs.rows["neg_title"].to_list()
        self._kept: dict[int, Tensor] = {}
        self._room = keep_gb * 1e9

    def __len__(self) -> int:
        return len(self.pairs)

    def minibatch(self, rows: Ints, *, regions: bool = False) -> PairBatch:
        """The share of this process in some rows; each image of the batch occurs once."""
        shown = self._shown[rows]
        texts = [self._titles[k] for k in rows.tolist()]
        false = [self._false[k] for k in rows.tolist()]
        if self.negatives == "images":
            shown, texts = np.concatenate([shown, self._other[rows]]), texts + false
        elif self.negatives == "texts":
            texts = texts + false
        numbers, owner = np.unique(shown, return_inverse=True)
        rank, count = self.share
        if min(len(numbers), len(texts)) < count:
            raise BadInput(
                f"a batch of {len(numbers)} images cannot be shared by {count} processes",
                allowed="at least one image for each",
                todo="use a larger batch with --set batch=NUMBER",
            )
        mine = numbers[share_of(len(numbers), rank, count)]
        own_texts = texts[share_of(len(texts), rank, count)]
        return PairBatch(
            self._prepared(mine),
            self.encoder.prepare_texts(own_texts),
            torch.from_numpy(owner),
            len(numbers),
            len(texts),
        )

    def batches(self, size: int) -> Iterator[PairBatch]:
        """All rows in order; the last batch may be smaller."""
        for start in range(0, len(self), size):
            yield self.minibatch(np.arange(start, min(start + size, len(self))))

    def _prepared(self, numbers: Ints) -> Tensor:
        missing = [k for k in numbers.tolist() if k not in self._kept]
        fresh: dict[int, Tensor] = {}
        if missing:
            made = self.encoder.prepare_images([self._pictures[k] for k in missing])
            fresh = dict(zip(missing, made, strict=True))
        stacked = torch.stack([fresh[k] if k in fresh else self._kept[k] for k in numbers.tolist()])
        for k, one in fresh.items():
            size = one.numel() * one.element_size()
            if self._room >= size:
                self._kept[k] = one.clone()  # not a view of the whole batch
                self._room -= size
        return stacked
