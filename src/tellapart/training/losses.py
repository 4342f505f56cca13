"""Losses on embeddings of pictures and texts; they know nothing of the towers that made these.

Rows are unit vectors; row i of the pictures belongs to row i of the texts.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


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
