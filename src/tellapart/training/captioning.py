"""Training captioners: by cross-entropy, and then by the CIDEr-D of their captions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from tellapart.errors import BadInput
from tellapart.models.caption_writer import Decoding
from tellapart.models.zoo.captioner import RecurrentCaptioner
from tellapart.models.zoo.decoding import MARK
from tellapart.models.zoo.self_critical import SelfCritical
from tellapart.models.zoo.system import ImageInputs, Minibatch, System
from tellapart.text.caption_metrics.cider import cider_d
from tellapart.text.caption_metrics.references import ReferenceSets
from tellapart.text.tokens import tokens
from tellapart.text.vocabulary import END, SPECIAL
from tellapart.training.data import CaptionedImages, TrainingSet
from tellapart.training.task import Task

IMAGES, CAPTIONS = 128, 640
"""The batch size of validation."""


@dataclass(frozen=True, slots=True)
class CaptioningSettings:
    """How captions are written in validation: greedily, with at most `write` words."""

    write: int = 20


class CaptioningTask(Task):
    """Every word of a caption is predicted from those before it: cross-entropy.

    The best weights are those with the highest likelihood per word of validation captions.
    """

    Settings: ClassVar[type[Any]] = CaptioningSettings
    measure = "log_likelihood"
    system: RecurrentCaptioner

    def __init__(self, system: System, settings: Any, data: TrainingSet) -> None:
        if not isinstance(system, RecurrentCaptioner):
            raise BadInput(
                "this system does not write captions, so it cannot be trained to",
                allowed="a captioner: showtell, showatttell, updown, neuraltalk",
                todo="leave --task out",
            )
        super().__init__(system, settings, data)

    def forward(self, batch: Minibatch, epoch: int) -> Tensor:
        """The cross-entropy of a batch."""
        loss: Tensor = self.system(batch)
        return loss

    def validate(self, data: TrainingSet) -> dict[str, float]:
        """Log-likelihood per word, perplexity, and CIDEr-D (times 100) of greedy captions."""
        mean = mean_log_likelihood(self.system, data)
        how = Decoding(method="greedy", longest=self.settings.write)
        written = write_all(self.system, data.images, how)
        sets = ReferenceSets.of(written, references_of(data.images))
        figures = {"log_likelihood": mean, "perplexity": float(np.exp(-mean))}
        return figures | {"cider_d": 100 * cider_d(sets).corpus}


@dataclass(frozen=True, slots=True)
class SelfCriticalSettings(CaptioningSettings):
    """The number of captions sampled per image; the default is from the cited code."""

    samples: int = 5


class SelfCriticalTask(CaptioningTask):
    """Captions better than the greedy one become more likely: SCST (Rennie et al. 2017).

    Training starts from a captioner trained by cross-entropy (`--start`). The best weights are
    those whose greedy captions have the highest CIDEr-D in validation.
    """

    Settings: ClassVar[type[Any]] = SelfCriticalSettings
    measure = "cider_d"

    def __init__(self, system: System, settings: Any, data: TrainingSet) -> None:
        super().__init__(system, settings, data)
        words = (SPECIAL + system.vocabulary.words)[END:]
        own = [[tokens(text) for text in texts] for texts in texts_of(data.images)]
        self.critical = SelfCritical.of(own, words, settings.samples, settings.write)

    def forward(self, batch: Minibatch, epoch: int) -> Tensor:
        """The loss of freshly sampled captions."""
        rows = len(batch.numbers) * self.settings.samples
        chances = torch.rand(rows, self.settings.write, dtype=torch.float64).to(batch.owner.device)
        return self.critical.loss(self.system, batch.images, batch.numbers.tolist(), chances)


def mean_log_likelihood(system: RecurrentCaptioner, data: TrainingSet) -> float:
    """The mean log-likelihood per word (or end) of the captions of a set."""
    total, count = 0.0, 0
    order = np.argsort([len(words) for words in data.words], kind="stable")
    device = next(system.parameters()).device
    for begin in range(0, len(order), CAPTIONS):
        batch = data.minibatch(order[begin : begin + CAPTIONS], regions=system.needs_regions)
        batch = batch.to(device)
        seen = tuple(one[batch.owner] for one in system.encode_images(batch.images))
        (captions,) = system.encode_texts(batch.texts)
        total += float(system.log_likelihood(captions, seen).sum())
        count += int((captions != MARK).sum()) + len(captions)
    return total / count


def write_all(system: RecurrentCaptioner, images: CaptionedImages, how: Decoding) -> list[str]:
    """A captioner's captions for the images of a set."""
    texts: list[str] = []
    device = next(system.parameters()).device
    for begin in range(0, len(images), IMAGES):
        places = np.arange(begin, min(begin + IMAGES, len(images)))
        arrays = images.features(places, regions=system.needs_regions)
        written = system.write(ImageInputs.of(arrays, device), how)
        texts += [system.vocabulary.decode(row) for row in written.tolist()]
    return texts


def texts_of(images: CaptionedImages) -> list[list[str]]:
    """The captions of each image."""
    found: list[list[str]] = [[] for _ in images.ids]
    for text, owner in zip(images.texts, images.owner.tolist(), strict=True):
        found[owner].append(text)
    return found


def references_of(images: CaptionedImages) -> list[list[str]]:
    """The captions of each image as words separated by single spaces."""
    return [[" ".join(tokens(text)) for text in texts] for texts in texts_of(images)]
