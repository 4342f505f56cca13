"""The scores of all cells of a plan: from embeddings, from texts alone, or pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadImage
from tellapart.models.language import TextScorer
from tellapart.models.model import DualEncoder
from tellapart.score.batches import ModelFailed
from tellapart.score.encoder import Encoder
from tellapart.score.plan import ScorePlan, pair_keys
from tellapart.store.rows import Rows

PRODUCTS = 8192
"""How many inner products are taken at a time."""


@dataclass(frozen=True, slots=True)
class CellScores:
    """A score for each cell of a plan (NaN where there is none), and why, by image or by cell."""

    scores: npt.NDArray[np.floating]
    bad_images: dict[int, BadImage]
    bad_cells: dict[int, BadImage]


def score_plan(plan: ScorePlan, encoder: Encoder) -> CellScores:
    """The scores of all cells."""
    if isinstance(encoder.model, DualEncoder):
        return _from_embeddings(plan, encoder)
    if isinstance(encoder.model, TextScorer):
        return _from_texts(plan, encoder)
    return _from_pairs(plan, encoder)


def _from_embeddings(plan: ScorePlan, encoder: Encoder) -> CellScores:
    """Inner products in float32; a window of texts at a time, each with all its images.

    So the embeddings of texts, of which FOIL's T3 has millions, are never there all at once.
    """
    images, bad = encoder.embed_images(plan.images)
    scores = np.full(len(plan.text), np.nan, np.float32)
    by_text = np.argsort(plan.text, kind="stable")
    ends = np.cumsum(np.bincount(plan.text, minlength=len(plan.first)))
    asker = encoder.asker("texts")
    for begin in range(0, len(plan.first), encoder.window):
        end = min(begin + encoder.window, len(plan.first))
        written = plan.texts(plan.first[begin:end])
        texts = encoder.text_window(asker, written, plan.text_keys[begin:end], begin)
        if len(bad) < len(plan.images.pictures):
            _check_widths(encoder.model.facts.name, images, texts)
            wanted = by_text[ends[begin - 1] if begin else 0 : ends[end - 1]]
            for k in range(0, len(wanted), PRODUCTS):
                cells = wanted[k : k + PRODUCTS]
                left, right = images[plan.image[cells]], texts[plan.text[cells] - begin]
                scores[cells] = np.einsum("nd,nd->n", left, right)
        encoder.report("texts", end, len(plan.first))
    return CellScores(scores, bad, {})


def _check_widths(model: str, images: Rows, texts: Rows) -> None:
    if images.shape[1] != texts.shape[1]:
        raise ModelFailed(
            f"{model} gives images {images.shape[1]} numbers and texts {texts.shape[1]}",
            allowed="embeddings of one length for both",
        )


def _from_texts(plan: ScorePlan, encoder: Encoder) -> CellScores:
    """Every distinct text once, in float64: the model never looks at a picture."""
    values = np.empty(len(plan.first))
    asker = encoder.asker("pairs")
    for begin in range(0, len(plan.first), encoder.window):
        end = min(begin + encoder.window, len(plan.first))
        texts = plan.texts(plan.first[begin:end])
        keys = plan.text_keys[begin:end]
        rows = encoder.text_window(asker, texts, keys, begin, encoder.model.score_texts)
        values[begin:end] = rows[:, 0]
        encoder.report("scores", end, len(plan.first))
    return CellScores(values[plan.text], {}, {})


def _from_pairs(plan: ScorePlan, encoder: Encoder) -> CellScores:
    """Every distinct pair once; the pairs of one image stand together, so it is opened once."""
    unread = plan.images.bad
    if unread and not encoder.skip_bad:
        raise next(iter(unread.values()))
    pairs = plan.image.astype(np.int64) * max(1, len(plan.first)) + plan.text
    _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
    values = np.full(len(first), np.nan)
    wanted = first[~np.isin(plan.image[first], list(unread))] if unread else first
    bad: dict[int, BadImage] = {}
    asker = encoder.asker("pairs")
    for begin in range(0, len(wanted), encoder.window):
        cells = wanted[begin : begin + encoder.window]
        images = plan.image[cells].tolist()
        texts = plan.texts(cells)
        keys = pair_keys(plan.images.keys[plan.image[cells]], plan.text_keys[plan.text[cells]])
        for part in encoder.pair_window(asker, images, plan.images.pictures, texts, keys, begin):
            values[which[cells[part.batch.places]]] = part.rows[:, 0]
            bad |= {int(which[cells[k]]): error for k, error in part.bad.items()}
            encoder.report("scores", begin + int(part.batch.places[-1]) + 1, len(wanted))
    found = np.flatnonzero(np.isin(which, list(bad))).tolist() if bad else []
    return CellScores(values[which], dict(unread), {cell: bad[int(which[cell])] for cell in found})
