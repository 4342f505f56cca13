"""Losses of retrieval: grids of scores whose true cells should be higher than the others.

A grid is (images, captions); `owner` is each caption's image. A caption of the same image is never
a negative, whichever caption of it the batch holds.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def own_cells(grid: Tensor, owner: Tensor) -> Tensor:
    """Which cells are true, (n, m)."""
    return torch.arange(len(grid), device=grid.device)[:, None] == owner


def max_margin(grid: Tensor, owner: Tensor, margin: float = 0.2, *, hardest: bool = True) -> Tensor:
    """Every true cell should beat the negatives of its row and of its column by a margin.

    With `hardest` only the highest negative of each counts (VSE++, Faghri et al. 2018, equation 6),
    else all are summed (equation 5). Ours: the mean over captions, where the code of VSE++ sums, so
    that the batch's size does not decide how soon gradients are cut.
    """
    own = own_cells(grid, owner)
    right = grid[owner, torch.arange(len(owner), device=grid.device)]
    others = grid.masked_fill(own, float("-inf"))
    if hardest:
        by_caption = (margin + others.amax(dim=0) - right).clamp(min=0)
        by_image = (margin + others.amax(dim=1)[owner] - right).clamp(min=0)
        return (by_caption + by_image).mean()
    by_caption = (margin + others - right).clamp(min=0).sum(dim=0)
    by_image = (margin + others[owner] - right[:, None]).clamp(min=0).sum(dim=1)
    return (by_caption + by_image).mean()


def info_nce(grid: Tensor, owner: Tensor, scale: float = 20.0) -> Tensor:
    """Pick each caption's image among all, and each image's caption among those of other images.

    InfoNCE both ways (van den Oord et al. 2018; Radford et al. 2021) at a fixed scale, the inverse
    of the temperature.
    """
    fits = scale * grid
    to_image = functional.cross_entropy(fits.T, owner)
    right = fits[owner, torch.arange(len(owner), device=grid.device)]
    others = fits.masked_fill(own_cells(grid, owner), float("-inf")).logsumexp(dim=1)[owner]
    to_caption = (torch.logaddexp(right, others) - right).mean()
    return (to_image + to_caption) / 2
