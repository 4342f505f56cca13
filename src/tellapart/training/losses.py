"""Losses of retrieval: grids of scores whose true cells should be higher than the others.

A grid is (images, captions); `owner` is each caption's image. Columns beyond the owners are hard
negative texts, which belong to no image: images must not choose them, and no image is chosen for
them. Another caption of the same image is never a negative.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def own_cells(grid: Tensor, owner: Tensor) -> Tensor:
    """Which cells are true, (n, m)."""
    own = torch.arange(len(grid), device=grid.device)[:, None] == owner
    return functional.pad(own, (0, grid.shape[1] - len(owner)))


def max_margin(grid: Tensor, owner: Tensor, margin: float = 0.2, *, hardest: bool = True) -> Tensor:
    """Every true cell should beat the negatives of its row and of its column by a margin.

    With `hardest`, only the highest negative of each counts (VSE++, Faghri et al. 2018, equation
    6); otherwise all are summed (equation 5). Ours: the mean over captions, where the code of VSE++
    sums, so that gradient clipping does not depend on the batch size.
    """
    own, m = own_cells(grid, owner), len(owner)
    right = grid[owner, torch.arange(m, device=grid.device)]
    others = grid.masked_fill(own, float("-inf"))
    if hardest:
        by_caption = (margin + others[:, :m].amax(dim=0) - right).clamp(min=0)
        by_image = (margin + others.amax(dim=1)[owner] - right).clamp(min=0)
        return (by_caption + by_image).mean()
    by_caption = (margin + others[:, :m] - right).clamp(min=0).sum(dim=0)
    by_image = (margin + others[owner] - right[:, None]).clamp(min=0).sum(dim=1)
    return (by_caption + by_image).mean()


def info_nce(grid: Tensor, owner: Tensor, scale: float | Tensor = 20.0) -> Tensor:
    """Choose each caption's image among all, and each image's caption among other images' captions.

    InfoNCE both ways (van den Oord et al. 2018; Radford et al. 2021); the scale is the inverse of
    the temperature. With negative texts, images choose among all texts and only captions choose
    images, as in NegCLIP (Yuksekgonul et al. 2023, section 4).
    """
    fits, m = scale * grid, len(owner)
    to_image = functional.cross_entropy(fits[:, :m].T, owner)
    right = fits[owner, torch.arange(m, device=grid.device)]
    others = fits.masked_fill(own_cells(grid, owner), float("-inf")).logsumexp(dim=1)[owner]
    to_caption = (torch.logaddexp(right, others) - right).mean()
    return (to_image + to_caption) / 2
