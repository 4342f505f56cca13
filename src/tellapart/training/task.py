"""What `storybook` is trained to do, and how well it does it on examples that were kept back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.training.data import Batch, Examples, batch_of
from tellapart.training.losses import contrastive, near_miss_cells, pairs
from tellapart.training.towers import Towers


@dataclass(frozen=True)
class MatchTask:
    """Match pictures with captions among the whole batch, and near misses among themselves."""

    model: Towers
    pair_weight: float = 0.5

    def loss(self, batch: Batch) -> Tensor:
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


def group_scores(model: Towers, examples: Examples, size: int = 100) -> dict[str, float]:
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
