"""Training data: captions with the features of their images, split by image, cut into batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import polars as pl
import torch

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.image_features.source import check_spaces, joined
from tellapart.image_features.store import FeatureSpace, FeatureStore, ImageArrays
from tellapart.models.zoo.system import ImageInputs, Minibatch, Negatives, TextInputs
from tellapart.text.vocabulary import Vocabulary
from tellapart.training.tuning.pairs import TrainingPairs
from tellapart.types import Ints


@dataclass(frozen=True, eq=False)
class CaptionedImages:
    """Images with captions and features; its length is the number of images.

    `place` is (store, row) of each image's features, `owner` each caption's image. If there are
    hard negatives, `false` has one for each caption ("" if it has none), and `false_image` the
    image that was made for it (-1: none).
    """

    stores: tuple[FeatureStore, ...]
    ids: tuple[str, ...]
    place: Ints
    texts: tuple[str, ...]
    owner: Ints
    false: tuple[str, ...] = field(default=(), kw_only=True)
    false_image: Ints | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def space(self) -> FeatureSpace:
        """The space of the features."""
        return self.stores[0].space

    def part(self, images: Ints) -> CaptionedImages:
        """Some of the images, with their captions."""
        number = np.full(len(self.ids), -1)
        number[images] = np.arange(len(images))
        kept = np.flatnonzero(number[self.owner] >= 0)
        kept = kept[np.argsort(number[self.owner[kept]], kind="stable")]
        return CaptionedImages(
            self.stores,
            tuple(self.ids[k] for k in images.tolist()),
            self.place[images],
            tuple(self.texts[k] for k in kept.tolist()),
            number[self.owner[kept]],
            false=tuple(self.false[k] for k in kept.tolist()) if self.false else (),
            false_image=None
            if self.false_image is None
            else _renumbered(self.false_image, number)[kept],
        )

    @property
    def own_texts(self) -> tuple[str, ...]:
        """The captions of the images, in which words are counted."""
        return self.texts

    def counts(self) -> dict[str, int]:
        """The size of the data, for a trained system's card."""
        return {"images": len(self), "captions": len(self.own_texts)}

    def encoded(self, vocabulary: Vocabulary, longest: int | None) -> TrainingSet:
        """The captions in the numbers of a vocabulary, cut at `longest` words."""
        return TrainingSet.encoded(self, vocabulary, longest)

    def content(self) -> str:
        """The hash of the captions and their negatives."""
        made = [] if self.false_image is None else [self.false_image.tolist()]
        return seeds.digest(self.texts, *([self.false] if self.false else []), *made)

    def column(self, name: str) -> list[object]:
        """A column of the stores' index, a value for each image."""
        columns = [store.index[name].to_list() for store in self.stores]
        return [columns[store][row] for store, row in self.place.tolist()]

    def features(self, images: Ints, *, regions: bool) -> ImageArrays:
        """Features of some images, in their order."""
        place = self.place[images]
        if len(self.stores) == 1:
            return self.stores[0].take(place[:, 1], regions=regions)
        order = np.argsort(place[:, 0], kind="stable")
        parts = [
            self.stores[k].take(place[order][place[order, 0] == k, 1], regions=regions)
            for k in np.unique(place[:, 0]).tolist()
        ]
        both, back = joined(parts, self.space, regions), np.argsort(order)
        return ImageArrays(both.whole[back], both.regions[back], both.counts[back])


def _renumbered(images: Ints, number: Ints) -> Ints:
    """New numbers of images; -1 stays, and an image that is not kept becomes -1."""
    new: Ints = np.where(images >= 0, number[images], -1)
    return new


def gather(corpora: Sequence[Corpus], stores: Sequence[FeatureStore]) -> CaptionedImages:
    """Captions of corpora with features: store k belongs to corpus k, or one store to all."""
    if len(stores) not in (1, len(corpora)):
        raise BadInput(
            f"{len(corpora)} corpora and {len(stores)} stores of features were given",
            allowed="one store for each corpus, in the same order, or one with all images",
        )
    check_spaces(stores)
    ids: list[str] = []
    place: list[tuple[int, int]] = []
    texts: list[str] = []
    owner: list[int] = []
    for number, corpus in enumerate(corpora):
        at = min(number, len(stores) - 1)
        rows = rows_in(corpus, stores[at])
        for image, captions in corpus.texts_by_image.items():
            texts += captions
            owner += [len(ids)] * len(captions)
            place.append((at, rows[image]))
            ids.append(image)
    return CaptionedImages(
        tuple(stores), tuple(ids), np.array(place), tuple(texts), np.array(owner)
    )


def gather_pairs(pairs: TrainingPairs, stores: Sequence[FeatureStore]) -> CaptionedImages:
    """Captions of pairs, each with its negatives, and the features of their images.

    An image is looked up in all stores; those made for false captions come after the others.
    """
    check_spaces(stores)
    order = pairs.rows.sort("image", maintain_order=True)
    shown, other = order["image"], order["neg_image"]
    ids = pl.concat([shown, other.drop_nulls()]).unique(maintain_order=True).to_list()
    known = {image: pairs.pictures[image].image.sha256 for image in ids}
    number = {image: k for k, image in enumerate(ids)}
    false = order["neg_title"].fill_null("")
    made = np.array([number.get(image, -1) for image in other])
    return CaptionedImages(
        tuple(stores),
        tuple(ids),
        _places(known, pairs.name, stores),
        tuple(order["title"]),
        np.array([number[image] for image in shown]),
        false=tuple(false) if (false != "").any() else (),
        false_image=made if (made >= 0).any() else None,
    )


def _places(wanted: Mapping[str, str | None], name: str, stores: Sequence[FeatureStore]) -> Ints:
    """The store and the row of each image; the last store must have what the others lack."""
    found: dict[str, tuple[int, int]] = {}
    for number, store in enumerate(stores):
        rest = {image: sha256 for image, sha256 in wanted.items() if image not in found}
        if number < len(stores) - 1:
            rest = {image: sha256 for image, sha256 in rest.items() if image in store.by_id}
        rows = _rows_of(rest, name, store)
        found |= {image: (number, rows[image]) for image in rest}
    return np.array([found[image] for image in wanted])


def rows_in(corpus: Corpus, store: FeatureStore) -> dict[str, int]:
    """The rows of a corpus's images in a store; raises if the store belongs to another corpus."""
    known = corpus.images.select("id", "sha256").iter_rows()
    wanted = {image: sha256 for image, sha256 in known if image in corpus.texts_by_image}
    return _rows_of(wanted, corpus.name, store)


def _rows_of(wanted: Mapping[str, str | None], name: str, store: FeatureStore) -> dict[str, int]:
    hashes = store.index["sha256"]
    missing = [image for image in wanted if image not in store.by_id]
    other = [
        image
        for image, sha256 in wanted.items()
        if image in store.by_id and sha256 and sha256 != hashes[store.by_id[image]]
    ]
    if not missing and not other:
        return store.by_id
    what = (
        f"no features for {len(missing):,} of its {len(wanted):,} images, such as {missing[0]}"
        if missing
        else f"features of other pictures for {len(other):,} of its images, such as {other[0]}"
    )
    raise BadInput(
        f"the features do not belong to the corpus {name}: there are {what}",
        where=str(store.folder),
        allowed=f"features of {name}; these were computed on {store.card.corpus}",
        todo="compute them: tellapart features CORPUS OUT, or leave --features out",
    )


class Batchable(Protocol):
    """Data for the training loop: rows that become batches."""

    def __len__(self) -> int: ...

    def minibatch(self, rows: Ints, *, regions: bool) -> Any:
        """Some rows, ready for the task; the result has a method `to(device)`."""
        ...


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Captioned images whose captions and negatives are word numbers."""

    images: CaptionedImages
    words: tuple[list[int], ...]
    false: tuple[list[int], ...] = field(default=(), kw_only=True)

    @classmethod
    def encoded(
        cls, images: CaptionedImages, vocabulary: Vocabulary, longest: int | None
    ) -> TrainingSet:
        """The captions in the numbers of a vocabulary, cut at `longest` words."""
        words, false = (
            tuple(vocabulary.encode(text, longest) if text else [] for text in texts)
            for texts in (images.texts, images.false)
        )
        return cls(images, words, false=false)

    def __len__(self) -> int:
        return len(self.words)

    @property
    def owner(self) -> Ints:
        """The image of each row: of each caption, or of other units."""
        return self.images.owner

    def minibatch(self, captions: Ints, *, regions: bool) -> Minibatch:
        """Some captions with their images, each image once."""
        numbers, owner = np.unique(self.images.owner[captions], return_inverse=True)
        return Minibatch(
            ImageInputs.of(self.images.features(numbers, regions=regions)),
            TextInputs.of([self.words[k] for k in captions.tolist()]),
            torch.from_numpy(owner),
            torch.from_numpy(numbers),
            false=self._negatives(captions, numbers, regions=regions),
        )

    def _negatives(self, captions: Ints, numbers: Ints, *, regions: bool) -> Negatives | None:
        """The hard negatives of some captions, and the images made for them, each once."""
        if not self.false:
            return None
        made = self.images.false_image
        shown = np.full(len(captions), -1) if made is None else made[captions]
        others = np.setdiff1d(shown[shown >= 0], numbers)
        every = np.concatenate([numbers, others])
        place = {image: row for row, image in enumerate(every.tolist())}
        there = [k for k, caption in enumerate(captions.tolist()) if self.false[caption]]
        return Negatives(
            TextInputs.of([self.false[captions[k]] for k in there]),
            torch.tensor([place.get(int(shown[k]), -1) for k in there], dtype=torch.int64),
            ImageInputs.of(self.images.features(others, regions=regions)) if len(others) else None,
        )


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How captions are batched: `size` captions per batch, `together` of each image.

    The batches of an epoch depend only on the seed and the epoch's number, so that a resumed job
    sees the same ones. Captions that do not fill a batch wait for the next epoch.
    """

    size: int
    together: int
    seed: int

    def epoch(self, data: Batchable, number: int) -> list[Ints]:
        """The captions of each batch of an epoch."""
        rng = seeds.rng(self.seed, "batches", number)
        if self.together > 1 and isinstance(data, TrainingSet):
            order = self._by_image(data, rng)
        else:
            order = rng.permutation(len(data))
        full = len(order) // self.size
        if not full:
            raise BadInput(
                f"a batch of {self.size:,} captions is larger than the training set",
                allowed=f"at most {len(order):,}",
                todo="use a smaller batch with --set batch=NUMBER, or more data",
            )
        return [order[k * self.size : (k + 1) * self.size] for k in range(full)]

    def _by_image(self, data: TrainingSet, rng: np.random.Generator) -> Ints:
        """All captions in groups of `together` per image; a short group repeats captions."""
        owner = data.owner
        order = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[order], np.arange(len(data.images) + 1))
        lots = []
        for image in rng.permutation(len(data.images)).tolist():
            captions = order[bounds[image] : bounds[image + 1]]
            if len(captions):
                lots.append(np.resize(rng.permutation(captions), self.together))
        return np.concatenate(lots)


def ahead_of(data: Batchable, batches: Sequence[Ints], *, regions: bool) -> Iterator[Any]:
    """The minibatches of an epoch, each read while the previous one is processed."""
    with ThreadPoolExecutor(1) as pool:
        waiting = [pool.submit(data.minibatch, b, regions=regions) for b in batches[:2]]
        for number in range(len(batches)):
            done = waiting.pop(0).result()
            if number + 2 < len(batches):
                waiting.append(pool.submit(data.minibatch, batches[number + 2], regions=regions))
            yield done
