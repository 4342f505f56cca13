"""A task: a system with its loss and the measure that selects the best weights.

A task is a torch module, so that the loop trains all of them alike. A plugin adds a class like
`RetrievalTask`, registered under `tellapart.tasks`; a system refers to its task by that name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.measures.retrieval import KS, Collection, rank_both
from tellapart.models.zoo.grids import image_blocks, match_blocks, text_blocks
from tellapart.models.zoo.system import ImageInputs, Minibatch, System
from tellapart.training.data import CaptionedImages, TrainingSet
from tellapart.training.losses import info_nce, max_margin
from tellapart.training.tuning.pairs import NEGATIVES

LOSSES = ("hardest", "sum", "info-nce")


class Task(nn.Module):
    """The base of all tasks.

    `Settings` is a frozen dataclass; `measure` names the figure of `validate` by which the best
    weights are chosen, higher being better; `items` means that it learns from a benchmark's items
    instead of a corpus's captions. `splits_batches` means that several processes share each batch,
    with the loss over all of it; otherwise each process has its own batches.
    """

    Settings: ClassVar[type[Any]]
    measure: str
    items: ClassVar[bool] = False
    splits_batches: ClassVar[bool] = False

    def __init__(self, system: Any, settings: Any, data: Any) -> None:
        super().__init__()
        self.system, self.settings = system, settings

    @classmethod
    def refuse(cls, data: CaptionedImages, test: Benchmark) -> None:
        """Raise if training on the data would leak a test in ways other than shared images."""

    @classmethod
    def texts_to_count(cls, data: CaptionedImages) -> Sequence[str]:
        """The texts whose words make up the vocabulary."""
        return data.own_texts

    def forward(self, batch: Any, epoch: int) -> Tensor:
        """The loss of a batch, a number."""
        raise NotImplementedError

    def validate(self, data: Any) -> dict[str, float]:
        """Figures on validation data; the system is in evaluation mode."""
        raise NotImplementedError

    def conclude(self, data: TrainingSet, folder: Path) -> dict[str, Any]:
        """Add files to the trained folder once the best weights are known; returns card facts."""
        return {}


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """How a retrieval system is trained.

    From the paper: max-margin. [code] (VSE++): the hardest negative, margin 0.2. Ours: for the
    first `sum_epochs` epochs all negatives are summed, because the hardest ones often collapse all
    vectors into one point at the beginning; `scale` is that of InfoNCE. With `negatives=texts`,
    each caption's hard negative is in the batch, as in trohn-text; with `negatives=images`, the
    images made for them are, too, as in trohn-img. A negative without an image stays a text.
    """

    loss: str = "hardest"
    negatives: str = "none"
    margin: float = 0.2
    sum_epochs: int = 0
    scale: float = 20.0


class RetrievalTask(Task):
    """Images and captions find each other: max-margin or InfoNCE, chosen by the sum of recalls."""

    Settings = RetrievalSettings
    measure = "rsum"

    def __init__(self, system: System, settings: RetrievalSettings, data: TrainingSet) -> None:
        if settings.loss not in LOSSES:
            raise UnknownName("loss", settings.loss, LOSSES)
        if settings.negatives not in NEGATIVES:
            raise UnknownName("sort of negatives", settings.negatives, NEGATIVES)
        if settings.negatives != "none" and not data.false:
            raise BadInput(
                "the captions have no hard negatives",
                allowed="--on a benchmark of build negatives, or --set negatives=none",
            )
        if settings.negatives == "images" and data.images.false_image is None:
            raise BadInput(
                "no image was made for any hard negative",
                allowed="--on a benchmark of build bivlc, or --set negatives=texts",
            )
        super().__init__(system, settings, data)

    def forward(self, batch: Minibatch, epoch: int) -> Tensor:
        """The loss over the grid of the batch."""
        grid, owner = self._grid(batch)
        if self.settings.loss == "info-nce":
            return info_nce(grid, owner, self.settings.scale)
        hardest = self.settings.loss == "hardest" and epoch >= self.settings.sum_epochs
        return max_margin(grid, owner, self.settings.margin, hardest=hardest)

    def _grid(self, batch: Minibatch) -> tuple[Tensor, Tensor]:
        """Images by texts, and the image of each text that has one; the other texts come last."""
        system, false = self.system, batch.false
        if self.settings.negatives == "none" or false is None:
            whole: Tensor = system(batch).float()
            return whole, batch.owner
        images = [system.encode_images(batch.images)]
        owner, order = batch.owner, torch.arange(len(false.owner), device=batch.owner.device)
        if self.settings.negatives == "images":
            if false.images is not None:
                images.append(system.encode_images(false.images))
            owned = false.owner >= 0
            owner = torch.cat([owner, false.owner[owned]])
            order = torch.cat([order[owned], order[~owned]])
        columns = []
        for texts in (batch.texts, false.texts) if len(order) else (batch.texts,):
            codes = system.encode_texts(texts)
            columns.append(torch.cat([system.match(one, codes).float() for one in images]))
        return torch.cat([columns[0], *(one[:, order] for one in columns[1:])], dim=1), owner

    def validate(self, data: TrainingSet) -> dict[str, float]:
        """Recall in percent in both directions, and the sum of all six ([code] of VSE++: rsum).

        Images made for false captions have no captions of their own and are left out.
        """
        system: System = self.system
        device = next(system.parameters()).device

        shown, owner = np.unique(data.images.owner, return_inverse=True)

        def take(places: Any) -> ImageInputs:
            arrays = data.images.features(shown[places], regions=system.needs_regions)
            return ImageInputs.of(arrays, device)

        images = image_blocks(system, len(shown), take)
        scores = match_blocks(system, images, text_blocks(system, data.words, device))
        n, m = scores.shape
        found = Collection(owner, np.arange(n), np.arange(m), scores, None)
        ranks = zip(("i2t", "t2i"), rank_both(found), strict=True)
        figures = {
            f"{way}_r{k}": float(100 * (one.ranks <= k).mean()) for way, one in ranks for k in KS
        }
        return {"rsum": sum(figures.values()), **figures}
