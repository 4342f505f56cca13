"""Losses held to loops over every triple, as their papers write them."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tellapart.training.losses import info_nce, max_margin  # noqa: E402

MARGIN, SCALE = 0.2, 5.0


@pytest.fixture
def grid():
    """Three images; the second has two captions in the batch, none of the third's is first."""
    make = torch.Generator().manual_seed(0)
    return torch.randn(3, 4, generator=make, dtype=torch.float64), torch.tensor([1, 0, 1, 2])


def hinges(grid, owner):
    """For each caption, what its negatives cost: other images, and captions of other images."""
    cells, own = grid.numpy(), owner.tolist()
    for caption, image in enumerate(own):
        right = cells[image, caption]
        images = [MARGIN + cells[i, caption] - right for i in range(3) if i != image]
        captions = [MARGIN + cells[image, c] - right for c in range(4) if own[c] != image]
        yield np.maximum(images, 0), np.maximum(captions, 0)


def test_max_margin_counts_the_hardest_negative_or_all_and_never_an_own_caption(grid):
    cells, owner = grid
    hardest = np.mean([a.max() + b.max() for a, b in hinges(cells, owner)])
    summed = np.mean([a.sum() + b.sum() for a, b in hinges(cells, owner)])
    assert max_margin(cells, owner, MARGIN).item() == pytest.approx(hardest)
    assert max_margin(cells, owner, MARGIN, hardest=False).item() == pytest.approx(summed)
    assert hardest < summed


def test_info_nce_is_the_cross_entropy_both_ways(grid):
    cells, owner = grid
    fits, own = SCALE * cells.numpy(), owner.tolist()
    losses = []
    for caption, image in enumerate(own):
        right = fits[image, caption]
        images = np.exp(fits[:, caption]).sum()
        others = [fits[image, c] for c in range(4) if own[c] != image]
        captions = np.exp([right, *others]).sum()
        losses.append((np.log(images) + np.log(captions) - 2 * right) / 2)
    assert info_nce(cells, owner, SCALE).item() == pytest.approx(np.mean(losses))


def test_a_batch_of_one_image_has_no_negatives_and_no_loss():
    cells, owner = torch.randn(1, 3), torch.zeros(3, dtype=torch.int64)
    cells.requires_grad_()
    for hardest in (True, False):
        loss = max_margin(cells, owner, hardest=hardest)
        loss.backward()
        assert loss.item() == 0 and torch.isfinite(cells.grad).all()


def test_negative_texts_are_refused_by_images_and_choose_none(grid):
    """N images by N captions and as many negatives: NegCLIP's loss, written out cell by cell."""
    cells, owner = grid
    false = torch.randn(3, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole, own = torch.cat([cells, false], dim=1), owner.tolist()
    fits = SCALE * whole.numpy()
    losses = []
    for caption, image in enumerate(own):
        right = fits[image, caption]
        others = [fits[image, c] for c in range(8) if c >= 4 or own[c] != image]
        to_caption = np.log(np.exp([right, *others]).sum()) - right
        to_image = np.log(np.exp(fits[:, caption]).sum()) - right
        losses.append((to_caption + to_image) / 2)
    assert info_nce(whole, owner, SCALE).item() == pytest.approx(np.mean(losses))
    # Max-margin: a negative text may be the hardest of a row, and has no column of its own.
    rows = [MARGIN + whole[i].clone() - cells[i, c] for c, i in enumerate(own)]
    hardest = []
    for (images, _), row, image in zip(hinges(cells, owner), rows, own, strict=True):
        kept = [k for k in range(8) if k >= 4 or own[k] != image]
        hardest.append(images.max() + max(0.0, float(row[kept].max())))
    assert max_margin(whole, owner, MARGIN).item() == pytest.approx(np.mean(hardest))
