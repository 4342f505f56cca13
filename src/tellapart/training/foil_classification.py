"""Training classifiers of captions on a benchmark: true of their image, or a foil.

FOIL's classifiers are trained on T1 (Shekhar et al. 2017, section 4.1), and the trained systems are
tested on T2 and T3. For T3 the paper applies "the linear regression method over all the target
words", which cannot be built as written; here it is a linear softmax over target words on the joint
vectors of training foils with the foil word masked and the system's own weights frozen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.items import Slot, word_pair
from tellapart.models.zoo.foil.classifier import CORRECT, FOIL, FoilClassifier
from tellapart.models.zoo.foil.mender import MENDER, fit_mender
from tellapart.models.zoo.system import ImageInputs, Minibatch, System, TextInputs
from tellapart.training.data import CaptionedImages, TrainingSet
from tellapart.training.items_data import AskedImages, ItemBatch, ItemSet
from tellapart.training.multiple_choice import QUESTIONS, scores_of
from tellapart.training.task import Task
from tellapart.types import Ints


@dataclass(frozen=True, slots=True)
class JudgingSettings:
    """Settings of a classifier of captions: `penalty` regularises the linear model of T3."""

    penalty: float = 1e-4


class JudgingTask(Task):
    """Is this caption right for this image? Cross-entropy; the best weights by held-out T1."""

    Settings: ClassVar[type[Any]] = JudgingSettings
    measure = "t1"
    items = True
    system: FoilClassifier

    def __init__(self, system: System, settings: Any, data: TrainingSet) -> None:
        if not isinstance(system, FoilClassifier) or not isinstance(data, ItemSet):
            raise BadInput(
                "this system does not classify captions, so it cannot be trained to",
                allowed="a classifier: blind-lstm, cnn-lstm, lstm-norm-i, hiecoatt",
                todo="leave --task out",
            )
        super().__init__(system, settings, data)

    @classmethod
    def refuse(cls, data: CaptionedImages, test: Benchmark) -> None:
        """Raise if the training data has target-foil pairs of a test."""
        assert isinstance(data, AskedImages)
        learned = {(slot.target, slot.foil) for slot in data.slots if slot}
        asked = {pair for pair in map(word_pair, test) if pair}
        shared = sorted(learned & asked)
        if shared:
            target, foil = shared[0]
            raise BadInput(
                f"{len(shared):,} target-foil pairs of the training data are also in "
                f"{test.name}, such as {target}::{foil}",
                allowed="foils of the other part of the split",
                todo="build them with: tellapart build foil CORPUS OUT --part train",
            )

    @classmethod
    def texts_to_count(cls, data: CaptionedImages) -> Sequence[str]:
        """All captions, so that unknown words do not give foils away."""
        return data.texts

    def forward(self, batch: Minibatch, epoch: int) -> Tensor:
        """The cross-entropy of the two answers."""
        answers = torch.where(cast(ItemBatch, batch).right, CORRECT, FOIL)
        return functional.cross_entropy(self.system(batch).float(), answers)

    def validate(self, data: TrainingSet) -> dict[str, float]:
        """T1 in percent, on all captions and on each class, by the system's own decision."""
        said: list[Tensor] = []
        true: list[Tensor] = []
        for begin in range(0, len(data), QUESTIONS):
            places = np.arange(begin, min(begin + QUESTIONS, len(data)))
            batch = cast(ItemBatch, self._batch(data, places))
            said.append(scores_of(self.system, batch) > self.system.threshold)
            true.append(batch.right)
        is_true = torch.cat(true)
        right = (torch.cat(said) == is_true).double() * 100
        figures = {"t1": right, "t1_correct": right[is_true], "t1_foil": right[~is_true]}
        return {name: float(one.mean()) if len(one) else 0.0 for name, one in figures.items()}

    def _batch(self, data: TrainingSet, places: Ints) -> Minibatch:
        device = next(self.system.parameters()).device
        return data.minibatch(places, regions=self.system.needs_regions).to(device)

    def conclude(self, data: TrainingSet, folder: Path) -> dict[str, Any]:
        """Fit the linear model of T3 on the training foils."""
        asked = data.images
        assert isinstance(asked, AskedImages)
        slots = {k: slot for k, slot in enumerate(asked.slots) if slot is not None}
        if not slots:
            return {}
        words = sorted({slot.target for slot in slots.values()})
        with torch.inference_mode():
            vectors = self._masked_vectors(asked, slots)
        place = {word: k for k, word in enumerate(words)}
        targets = torch.tensor([place[slot.target] for slot in slots.values()])
        mender = fit_mender(vectors, targets, tuple(words), self.settings.penalty)
        mender.save(folder / MENDER)
        return {"mending": {"words": words, "foils": len(slots), "fits": mender.fits}}

    def _masked_vectors(self, asked: AskedImages, slots: dict[int, Slot]) -> Tensor:
        """Joint vectors of foil captions without their foil word, (n, joint width)."""
        system: FoilClassifier = self.system
        device = next(system.parameters()).device
        foils, found = list(slots), []
        for begin in range(0, len(foils), 2 * QUESTIONS):
            some = foils[begin : begin + 2 * QUESTIONS]
            arrays = asked.features(asked.owner[some], regions=system.needs_regions)
            encode = system.vocabulary.encode_masked
            masked = [encode(asked.texts[k], slots[k].start, slots[k].end) for k in some]
            images = system.encode_images(ImageInputs.of(arrays, device))
            words = system.encode_texts(TextInputs.of(masked, device))
            found.append(system.joint(images, words).float().cpu())
        return torch.cat(found)
