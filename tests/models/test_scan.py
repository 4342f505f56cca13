"""SCAN held to the obvious slow version: one pair at a time, with the vectors attended to."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from tests.models.small import one_thread  # noqa: E402

from tellapart.image_features.store import FeatureSpace  # noqa: E402
from tellapart.models.zoo import scan  # noqa: E402
from tellapart.models.zoo.scan import ScanI2T, ScanT2I  # noqa: E402
from tellapart.models.zoo.system import ImageInputs, TextInputs  # noqa: E402
from tellapart.text.vocabulary import Vocabulary  # noqa: E402

COUNTS, LENGTHS = (5, 3, 1), (4, 1, 6, 2)


@pytest.fixture(params=[ScanT2I, ScanI2T], ids=["t2i", "i2t"])
def found(request):
    """A system with codes of three images and four captions, of different lengths."""
    with one_thread():
        torch.manual_seed(0)
        vocabulary = Vocabulary(tuple("abcdefgh"))
        space = FeatureSpace("none", "", "", "boxes", 7, 7, 5)
        system = request.param(request.param.Config(8, 6), vocabulary, space).eval()
        make = torch.Generator().manual_seed(1)
        regions = torch.randn(3, 5, 7, generator=make)
        words = torch.randint(4, 12, (4, 6), generator=make)
        with torch.no_grad():
            images = system.encode_images(
                ImageInputs(torch.zeros(3, 7), regions, torch.tensor(COUNTS))
            )
            texts = system.encode_texts(TextInputs(words, torch.tensor(LENGTHS)))
        yield system, images, texts


def slowly(queries, context, temperature, factor):
    """The score of one pair as Lee et al. define it (equations 1 to 7, l2-normalised)."""
    attention = queries @ context.T
    attention = np.where(attention > 0, attention, 0.1 * attention)
    attention = attention / np.linalg.norm(attention, axis=0, keepdims=True)
    weights = np.exp(temperature * attention)
    weights /= weights.sum(axis=1, keepdims=True)
    attended = weights @ context
    cosine = (queries * attended).sum(axis=1)
    cosine /= np.linalg.norm(queries, axis=1) * np.linalg.norm(attended, axis=1)
    return np.log(np.exp(factor * cosine).sum()) / factor


def expected(system, images, texts):
    rows = []
    for i, count in enumerate(COUNTS):
        regions = images[0][i, :count].double().numpy()
        row = []
        for t, length in enumerate(LENGTHS):
            words = texts[0][t, :length].double().numpy()
            sides = (words, regions) if system.words_ask else (regions, words)
            row.append(slowly(*sides, system.config.temperature, system.config.log_sum_exp))
        rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("room", [1, 60, 1 << 20])
def test_grids_equal_pairs_computed_one_by_one(found, room, monkeypatch):
    monkeypatch.setattr(scan, "ROOM", room)
    monkeypatch.setattr(scan, "LOT", 3)
    system, images, texts = found
    with torch.no_grad():
        grid = system.match(images, texts).numpy()
    np.testing.assert_allclose(grid, expected(system, images, texts), rtol=1e-5, atol=1e-6)


def test_grids_are_the_same_where_gradients_are_kept(found):
    system, images, texts = found
    with torch.enable_grad():
        kept = system.match(images, texts)
    np.testing.assert_allclose(
        kept.detach().numpy(), expected(system, images, texts), rtol=1e-5, atol=1e-6
    )
