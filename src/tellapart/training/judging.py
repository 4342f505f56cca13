"""Training classifiers of captions on a benchmark: which are true of their image, which are foils.

FOIL's classifiers are trained on T1 (Shekhar et al. 2017, section 4.1), and T2 and T3 are asked of
what came out. For T3 the paper applies "the linear regression method over all the target words",
which cannot be built as written; here it is a linear softmax over target words on the joint vectors
of training foils whose foil word is masked, the system's own weights frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.errors import BadInput
from tellapart.image_features.source import check_spaces
from tellapart.image_features.store import FeatureStore
from tellapart.items import Slot
from tellapart.models.zoo.decoding import rows_of
from tellapart.models.zoo.foil.classifier import CORRECT, FOIL, FoilClassifier
from tellapart.models.zoo.foil.mender import MENDER, LinearMender, fit_mender
from tellapart.models.zoo.system import Minibatch, System, TextInputs
from tellapart.training.data import CaptionedImages, TrainingSet, store_rows
from tellapart.training.task import Task
from tellapart.types import Bools, Ints

CAPTIONS = 512
"""How many go through a classifier together in validation."""


@dataclass(frozen=True, eq=False)
class JudgedImages(CaptionedImages):
    """Images with captions that are true or not; `slots` has the foil word of those that have one.

    `pairs` are the (target, foil) pairs that occur.
    """

    true: Bools
    slots: tuple[Slot | None, ...]

    def caption_part(self, kept: Ints) -> dict[str, Any]:
        """The fields that have a value for each caption, of some captions."""
        slots = tuple(self.slots[k] for k in kept.tolist())
        # Not super(): a dataclass that is made anew by slots would not find itself.
        return CaptionedImages.caption_part(self, kept) | {"true": self.true[kept], "slots": slots}

    def content(self) -> str:
        """The hash of what the captions say, and which are true."""
        return seeds.digest(self.texts, self.true.tolist())

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The pairs of target and foil."""
        return frozenset((slot.target, slot.foil.lower()) for slot in self.slots if slot)


def corpus_of(benchmark: Benchmark) -> Corpus:
    """A benchmark's images, with all captions that are shown beside them, true or not."""
    images = [
        {"id": one.id, "uri": one.uri, "sha256": one.sha256}
        for one in map(benchmark.images.__getitem__, benchmark.images)
    ]
    captions = [
        {"id": f"{item.id}-{i}-{j}", "image": image, "text": text}
        for item in benchmark
        for i, image in enumerate(item.images)
        for j, text in enumerate(item.captions)
    ]
    return make_corpus(benchmark.name, benchmark.root, images, captions)


def gather_judged(benchmarks: Sequence[Benchmark], stores: Sequence[FeatureStore]) -> JudgedImages:
    """The cells of benchmarks with features: store k is of benchmark k, or one is of all."""
    if len(stores) not in (1, len(benchmarks)):
        raise BadInput(
            f"{len(benchmarks)} benchmarks are given, and {len(stores)} stores of features",
            allowed="one store for each benchmark, in the same order, or one for all images",
        )
    check_spaces(stores)
    number: dict[tuple[int, str], int] = {}
    place: list[tuple[int, int]] = []
    rows: list[tuple[int, str, bool, Slot | None]] = []
    for which, benchmark in enumerate(benchmarks):
        at = min(which, len(stores) - 1)
        known = store_rows(corpus_of(benchmark), stores[at])
        for item in benchmark:
            for i, image in enumerate(item.images):
                if (which, image) not in number:
                    number[which, image] = len(place)
                    place.append((at, known[image]))
                for j, text in enumerate(item.captions):
                    is_true = (i, j) in item.true
                    slot = item.slot if item.slot and item.slot.caption == j else None
                    rows.append((number[which, image], text, is_true, None if is_true else slot))
    rows.sort(key=lambda row: row[0])
    owner, texts, true, slots = zip(*rows, strict=True)
    return JudgedImages(
        tuple(stores), tuple(image for _, image in number), np.array(place), tuple(texts),
        np.array(owner), np.array(true), tuple(slots),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class JudgingSettings:
    """How a classifier of captions is trained: `penalty` keeps the linear model of T3 small."""

    penalty: float = 1e-4


class JudgingTask(Task):
    """Is this caption right of this image? Cross-entropy; chosen by T1 on held-out images."""

    Settings: ClassVar[type[Any]] = JudgingSettings
    measure = "t1"
    learns_from: ClassVar[Literal["corpora", "benchmarks"]] = "benchmarks"
    system: FoilClassifier

    def __init__(self, system: System, settings: Any, data: TrainingSet) -> None:
        if not isinstance(system, FoilClassifier):
            raise BadInput(
                "this system does not say whether a caption is right, so it cannot be trained to",
                allowed="a classifier: blind-lstm, cnn-lstm, lstm-norm-i, hiecoatt",
                todo="leave --task out",
            )
        super().__init__(system, settings, data)
        self.answers = _answers(data)

    @classmethod
    def gather(cls, sources: Sequence[Any], stores: Sequence[FeatureStore]) -> CaptionedImages:
        """The cells of benchmarks, with features."""
        return gather_judged(sources, stores)

    @classmethod
    def refuse(cls, data: CaptionedImages, test: Benchmark) -> None:
        """Pairs of target and foil that a test uses must not be learned."""
        assert isinstance(data, JudgedImages)
        asked = {(s.target, s.foil.lower()) for s in (item.slot for item in test) if s}
        shared = sorted(data.pairs & asked)
        if shared:
            target, foil = shared[0]
            raise BadInput(
                f"{len(shared):,} pairs of target and foil to be trained on are pairs of "
                f"{test.name}, such as {target}::{foil}",
                allowed="foils of the other part of the split",
                todo="build them with: tellapart build foil CORPUS OUT --part train",
            )

    def forward(self, batch: Minibatch, epoch: int) -> Tensor:
        """The cross-entropy of the two answers."""
        answers = self.answers[batch.captions].to(batch.owner.device)
        return functional.cross_entropy(self.system(batch).float(), answers)

    def validate(self, data: TrainingSet) -> dict[str, float]:
        """T1 in percent, on all captions and on either sort, by the system's own decision."""
        true = _answers(data) == CORRECT
        said = self._log_odds(data) > self.system.threshold
        right = (said == true).double() * 100
        figures = {"t1": right, "t1_correct": right[true], "t1_foil": right[~true]}
        return {name: float(one.mean()) if len(one) else 0.0 for name, one in figures.items()}

    def _log_odds(self, data: TrainingSet) -> Tensor:
        found = torch.empty(len(data))
        for places in _like_lengths(data.words):
            batch = self._batch(data, places)
            images = rows_of(self.system.encode_images(batch.images), batch.owner)
            scores = self.system.match_pairs(images, self.system.encode_texts(batch.texts))
            found[torch.from_numpy(places)] = scores.float().cpu()
        return found

    def _batch(self, data: TrainingSet, places: Ints) -> Minibatch:
        device = next(self.system.parameters()).device
        return data.minibatch(places, regions=self.system.needs_regions).to(device)

    def conclude(self, data: TrainingSet, folder: Path) -> dict[str, Any]:
        """Fit the linear model of T3 on the training foils."""
        judged = data.images
        assert isinstance(judged, JudgedImages)
        slots = {k: slot for k, slot in enumerate(judged.slots) if slot is not None}
        if not slots:
            return {}
        foils, words = np.array(list(slots)), sorted({slot.target for slot in slots.values()})
        with torch.inference_mode():
            vectors = self._masked_vectors(data, foils)
        place = {word: k for k, word in enumerate(words)}
        targets = torch.tensor([place[slots[k].target] for k in foils.tolist()])
        mender: LinearMender = fit_mender(vectors, targets, tuple(words), self.settings.penalty)
        mender.save(folder / MENDER)
        return {"mending": {"words": words, "foils": len(foils), "fits": mender.fits}}

    def _masked_vectors(self, data: TrainingSet, foils: Ints) -> Tensor:
        """Joint vectors of foil captions without their foil word, (n, joint width)."""
        assert isinstance(data.images, JudgedImages)
        vocabulary, texts, slots = self.system.vocabulary, data.images.texts, data.images.slots
        found = torch.empty(len(foils), self.system.joint_width)
        for begin in range(0, len(foils), CAPTIONS):
            places = foils[begin : begin + CAPTIONS]
            batch, masked = self._batch(data, places), []
            for k in places.tolist():
                slot = slots[k]
                assert slot is not None
                masked.append(vocabulary.encode_masked(texts[k], slot.start, slot.end))
            images = rows_of(self.system.encode_images(batch.images), batch.owner)
            words = self.system.encode_texts(TextInputs.of(masked, batch.owner.device))
            found[begin : begin + len(places)] = self.system.joint(images, words).float().cpu()
        return found


def _answers(data: TrainingSet) -> Tensor:
    """The right answer to each caption."""
    if not isinstance(data.images, JudgedImages):
        raise BadInput(
            "a classifier of captions learns from a benchmark, which says what is true",
            allowed="tellapart train lstm-norm-i --on FOIL, built with --part train",
        )
    return torch.from_numpy(np.where(data.images.true, CORRECT, FOIL))


def _like_lengths(words: Sequence[Sequence[int]]) -> list[Ints]:
    """Places of captions, those of like length together."""
    order = np.argsort([len(one) for one in words], kind="stable")
    return [order[k : k + CAPTIONS] for k in range(0, len(order), CAPTIONS)]
