"""Items as training data: an image with some true and some false captions.

A benchmark for training (MCIC's image with five captions, FOIL's caption with its foil) is read as
questions: each image of each item, with all captions of the item and which are true of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.captions import corpus_of
from tellapart.errors import BadInput
from tellapart.image_features.source import check_spaces
from tellapart.image_features.store import FeatureStore
from tellapart.items import Item, Slot, word_pair
from tellapart.models.zoo.system import Minibatch
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.data import CaptionedImages, TrainingSet, rows_in
from tellapart.types import Bools, Ints


@dataclass(frozen=True, eq=False)
class AskedImages(CaptionedImages):
    """Images with the captions of questions about them.

    `question` is the number of each caption's question, whose captions are adjacent; `right` says
    whether a caption is true of its image. `slots` has the foil word of false captions that have
    one.
    """

    question: Ints
    right: Bools
    slots: tuple[Slot | None, ...]

    def content(self) -> str:
        """The hash of the captions and of which are true."""
        return seeds.digest(self.texts, self.right.tolist())

    @property
    def own_texts(self) -> tuple[str, ...]:
        """The true captions, each once per image; decoys are left out."""
        rows = zip(self.owner[self.right].tolist(), np.flatnonzero(self.right), strict=True)
        return tuple(text for _, text in dict.fromkeys((at, self.texts[k]) for at, k in rows))

    @cached_property
    def begins(self) -> Ints:
        """Where the captions of each question begin, and finally where the last ones end."""
        new = np.flatnonzero(np.diff(self.question, prepend=-1))
        return np.append(new, len(self.question))

    def counts(self) -> dict[str, int]:
        """Images, true captions and questions."""
        return {**super().counts(), "items": len(self.begins) - 1}

    def part(self, images: Ints) -> AskedImages:
        """Some of the images, with the questions about them."""
        number = np.full(len(self.ids), -1)
        number[images] = np.arange(len(images))
        kept = np.flatnonzero(number[self.owner] >= 0)
        kept = kept[np.argsort(number[self.owner[kept]], kind="stable")]
        own = super().part(images)
        plain = {f.name: getattr(own, f.name) for f in fields(CaptionedImages)}
        changes = np.diff(self.question[kept], prepend=self.question[kept][:1]) != 0
        slots = tuple(self.slots[k] for k in kept.tolist())
        return AskedImages(
            **plain, question=np.cumsum(changes), right=self.right[kept], slots=slots
        )

    def encoded(self, vocabulary: Vocabulary, longest: int | None) -> ItemSet:
        """The questions in the numbers of a vocabulary."""
        return ItemSet.encoded(self, vocabulary, longest)


@dataclass(frozen=True, slots=True)
class ItemBatch(Minibatch):
    """Captions of some questions; `question` numbers the batch's questions from 0."""

    question: Tensor
    right: Tensor

    def to(self, device: torch.device) -> ItemBatch:
        """The batch on another device."""
        moved = Minibatch.to(self, device)
        return ItemBatch(
            moved.images, moved.texts, moved.owner, moved.numbers,
            self.question.to(device), self.right.to(device),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ItemSet(TrainingSet):
    """Questions whose captions are word numbers; its length is the number of questions."""

    images: AskedImages

    @classmethod
    def encoded(
        cls, images: CaptionedImages, vocabulary: Vocabulary, longest: int | None
    ) -> ItemSet:
        """From captioned images; each distinct caption is encoded once."""
        assert isinstance(images, AskedImages)
        known = {text: vocabulary.encode(text, longest) for text in dict.fromkeys(images.texts)}
        return cls(images, tuple(known[text] for text in images.texts))

    def __len__(self) -> int:
        return len(self.images.begins) - 1

    @property
    def owner(self) -> Ints:
        """The image of each question."""
        return self.images.owner[self.images.begins[:-1]]

    def minibatch(self, questions: Ints, *, regions: bool) -> ItemBatch:
        """Some questions with all their captions."""
        begins = self.images.begins
        places = [np.arange(begins[k], begins[k + 1]) for k in questions.tolist()]
        captions = np.concatenate(places)
        plain = TrainingSet.minibatch(self, captions, regions=regions)
        question = np.repeat(np.arange(len(places)), [len(one) for one in places])
        return ItemBatch(
            plain.images, plain.texts, plain.owner, plain.numbers,
            torch.from_numpy(question), torch.from_numpy(self.images.right[captions]),
        )  # fmt: skip


def gather_items(benchmarks: Sequence[Benchmark], stores: Sequence[FeatureStore]) -> AskedImages:
    """Questions of benchmarks with features: store k belongs to benchmark k, or one to all."""
    if len(stores) not in (1, len(benchmarks)):
        raise BadInput(
            f"{len(benchmarks)} benchmarks and {len(stores)} stores of features were given",
            allowed="one store for each benchmark, in the same order, or one with all images",
        )
    check_spaces(stores)
    numbers: dict[tuple[int, int], int] = {}
    ids: list[str] = []
    texts: list[str] = []
    cells: list[tuple[int, int, bool]] = []
    slots: list[Slot | None] = []
    questions = 0
    for number, benchmark in enumerate(benchmarks):
        at = min(number, len(stores) - 1)
        rows = rows_in(corpus_of(benchmark), stores[at])
        for item in benchmark.items:
            for i, image in enumerate(item.images):
                if image not in rows:  # an image without a true caption
                    continue
                place = numbers.setdefault((at, rows[image]), len(ids))
                ids += [image] if place == len(ids) else []
                texts += item.captions
                cells += [
                    (place, questions, (i, j) in item.true) for j in range(len(item.captions))
                ]
                slots += [_slot(item, i, j) for j in range(len(item.captions))]
                questions += 1
    owner, question, right = (np.array(column) for column in zip(*cells, strict=True))
    return AskedImages(
        tuple(stores), tuple(ids), np.array(list(numbers)), tuple(texts), owner, question, right,
        tuple(slots),
    )  # fmt: skip


def seen_as_decoys(data: CaptionedImages, held: CaptionedImages) -> tuple[str, ...]:
    """A line if captions that are true of held-out images are decoys in training.

    A system may then learn that they are always false, so that a better fit lowers the accuracy by
    which the best weights are chosen. Items of other images have no captions in common with them.
    """
    if not isinstance(data, AskedImages) or not isinstance(held, AskedImages):
        return ()
    false = {text for text, right in zip(data.texts, data.right.tolist(), strict=True) if not right}
    own = set(held.own_texts)
    shared = len(own & false)
    if 2 * shared < len(own):
        return ()
    return (
        f"{shared:,} of {len(own):,} captions of the held-out images are decoys in training, which "
        "lowers accuracy on them; build items of other images apart and name them: --validation",
    )


def _slot(item: Item, image: int, caption: int) -> Slot | None:
    """The foil word of a caption, if it has one and is not true of the image."""
    slot, pair = item.slot, word_pair(item)
    if slot is None or pair is None or slot.caption != caption or (image, caption) in item.true:
        return None
    return replace(slot, foil=pair[1])
