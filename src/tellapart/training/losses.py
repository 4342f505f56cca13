"""Losses on embeddings of pictures and texts; they know nothing of the towers that made these.

Rows are unit vectors; row i of the pictures belongs to row i of the texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from tellapart.training.examples import ExampleArrays, TrainingBatch, batch_of
from tellapart.training.towers import Towers


def contrastive(
    images: Tensor, texts: Tensor, scale: Tensor, ignore: Tensor | None = None
) -> Tensor:
    """Pick each picture's text among all texts of the batch, and each text's picture.

    InfoNCE both ways (Radford et al. 2021, CLIP, section 2.3). Where `ignore` (n, n) is True, the
    text of the column is true of the picture of the row too, and the cell is left out.
    """
    fits = scale * images @ texts.T
    if ignore is not None:
        fits = fits.masked_fill(ignore, float("-inf"))
    right = torch.arange(len(fits))
    return (functional.cross_entropy(fits, right) + functional.cross_entropy(fits.T, right)) / 2


def pairs(images: Tensor, texts: Tensor, scale: Tensor) -> Tensor:
    """Tell near misses apart: rows 2i and 2i + 1 are a pair; choose between the two, four times.

    The four choices of BiVLC (Miranda et al. 2024, section 4): each picture picks a text of the
    pair's two, and each text a picture.
    """
    n, dimensions = len(images) // 2, images.shape[1]
    fits = scale * images.view(n, 2, dimensions) @ texts.view(n, 2, dimensions).transpose(1, 2)
    right = torch.arange(2).repeat(n)
    by_image = functional.cross_entropy(fits.reshape(-1, 2), right)
    by_text = functional.cross_entropy(fits.transpose(1, 2).reshape(-1, 2), right)
    return (by_image + by_text) / 2


def near_miss_cells(shared: Tensor) -> Tensor:
    """Cells (n, n) to leave out: the near miss's picture against a text that is true of both."""
    rows = torch.arange(len(shared))
    cells = torch.zeros(len(shared), len(shared), dtype=torch.bool)
    cells[rows ^ 1, rows] = shared
    return cells


@dataclass(frozen=True)
class MatchTask:
    """Match pictures with captions among the whole batch, and near misses among themselves."""

    model: Towers
    pair_weight: float = 0.5

    def loss(self, batch: TrainingBatch) -> Tensor:
        """The contrastive loss on telling and on plain captions, and the loss on pairs."""
        images = self.model.image(torch.from_numpy(batch.images))
        telling = self.model.text(torch.from_numpy(batch.telling))
        plain = self.model.text(torch.from_numpy(batch.plain))
        scale = self.model.scale()
        also_true = near_miss_cells(torch.from_numpy(batch.shared))
        with torch.autocast("cpu", enabled=False):  # softmaxes in full precision
            whole = contrastive(images, telling, scale) + contrastive(
                images, plain, scale, also_true
            )
            return whole / 2 + self.pair_weight * pairs(images, telling, scale)


def group_scores(model: Towers, examples: ExampleArrays, size: int = 100) -> dict[str, float]:
    """The share of near misses with all four choices right, by kind and in all (chance: 1/6)."""
    was_training = model.training
    model.eval()
    right: list[bool] = []
    for start in range(0, len(examples), size):
        rows = np.arange(start, min(start + size, len(examples)))
        batch = batch_of(examples, rows, np.ones((len(rows), 2), int), np.random.default_rng(0))
        with torch.no_grad():
            images = model.image(torch.from_numpy(batch.images)).view(len(rows), 2, -1)
            texts = model.text(torch.from_numpy(batch.telling)).view(len(rows), 2, -1)
        fits = (images @ texts.transpose(1, 2)).numpy()
        least_right = np.minimum(fits[:, 0, 0], fits[:, 1, 1])
        right += (least_right > np.maximum(fits[:, 0, 1], fits[:, 1, 0])).tolist()
    model.train(was_training)
    rights = np.array(right)
    by_kind = {str(k): float(rights[examples.kinds == k].mean()) for k in np.unique(examples.kinds)}
    return {"all": float(rights.mean()), **by_kind}
