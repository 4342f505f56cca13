"""Encoding: every distinct image, text or pair goes to the model once, in batches set beforehand.

Long lists are worked through in windows, so that what is stored, decoded or written out at a time
stays small; a window is a whole number of batches.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadImage
from tellapart.models.language import TextScorer
from tellapart.models.model import CACHE_FORMAT, DualEncoder, ModelInfo
from tellapart.pictures import Picture
from tellapart.score.batches import Asker, Batch, Computed, Limits, ModelFailed, in_batches
from tellapart.score.cells import text_keys
from tellapart.score.feed import Feed
from tellapart.score.plan import DistinctImages, ScorePlan, numbered, pair_keys
from tellapart.store.cache import SIZE_GB
from tellapart.store.rows import Keys, Rows, Shelf
from tellapart.types import Ints

Report = Callable[[str, int, int], None]
"""Told of the phase, how much of it is done, and how much there is."""

WINDOW = 8192
PIECES = re.compile(r"\w+|[^\w\s]")
IN_MEMORY = 256 << 20
"""Bytes of embeddings beyond which they are kept in a temporary file."""


def open_shelf(root: Path, info: ModelInfo, size_gb: float = SIZE_GB) -> Shelf:
    """A model's part of the cache."""
    about = {key: str(value) for key, value in asdict(info).items()}
    return Shelf.open(root, info.fingerprint, {"format": CACHE_FORMAT, **about}, size_gb)


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model with its shelf: gives rows for contents, computing only what is not stored.

    `by_content`: pictures are told apart by their bytes, and read ahead of the model; else the
    model may never look at them, and is left to open them itself.
    """

    model: Any
    limits: Limits
    shelf: Shelf | None = None
    skip_bad: bool = False
    by_content: bool = True
    report: Report = lambda phase, done, total: None

    @property
    def window(self) -> int:
        """How many contents are worked on at a time."""
        return self.limits.batch_size * max(1, WINDOW // self.limits.batch_size)

    def asker(self, kind: str) -> Asker:
        """Who gets the rows of one kind."""
        store = self.shelf.store(kind) if self.shelf else None
        return Asker(self.model.facts.name, kind, self.limits, store, self.skip_bad)

    def images(self, images: DistinctImages) -> tuple[Rows, dict[int, BadImage]]:
        """One row an image (NaN for the bad ones), and which are bad."""
        bad = dict(images.bad)
        if bad and not self.skip_bad:
            raise next(iter(bad.values()))
        n = len(images.pictures)
        good = np.array([k for k in range(n) if k not in bad], np.int64)
        asker = self.asker("images")
        rows: Rows | None = None
        for begin in range(0, len(good), self.window):
            part = good[begin : begin + self.window]
            for made in self._window_of_images(asker, images, part, begin):
                places = part[made.batch.places]
                rows = _room(n, made.rows.shape[1]) if rows is None else rows
                if rows.shape[1] == made.rows.shape[1]:
                    rows[places] = made.rows
                bad |= {int(part[k]): error for k, error in made.bad.items()}
                self.report("images", begin + int(made.batch.places[-1]) + 1, len(good))
        return np.full((n, 1), np.nan, np.float32) if rows is None else rows, bad

    def _window_of_images(
        self, asker: Asker, images: DistinctImages, part: Ints, begin: int
    ) -> Iterator[Computed]:
        keys = images.keys[part]
        known = asker.stored(keys)
        batches = self._batches(np.arange(len(part)), begin)
        needed = [[k for k in b.places.tolist() if known[k] is None] for b in batches]
        pictures = [images.pictures[k] for k in part.tolist()]
        embed = getattr(self.model, "embed_preprocessed", self.model.embed_images)
        with Feed(self.model, pictures, needed) as feed:

            def call(batch: Batch, places: Ints) -> Any:
                return embed(feed.take(batch.number - batches[0].number, places.tolist()))

            yield from asker.compute(batches, keys, call, known)

    def texts(self, asker: Asker, texts: Sequence[str], keys: Keys, begin: int = 0) -> Rows:
        """One row a text, for a window of texts.

        Texts of like length go together, so that little is spent on padding. A model that says
        how long texts are to it (`text_lengths`) is believed.
        """
        measure = getattr(self.model, "text_lengths", lengths)
        order = sorted(zip(measure(texts), texts, range(len(texts)), strict=True))
        batches = self._batches(np.array([k for _, _, k in order], np.int64), begin)

        def call(batch: Batch, places: Ints) -> Any:
            return self.model.embed_texts([texts[k] for k in places.tolist()])

        found: Rows | None = None
        for part in asker.compute(batches, keys, call, asker.stored(keys)):
            if found is None:
                found = np.empty((len(texts), part.rows.shape[1]), np.float32)
            found[part.batch.places] = part.rows
        return np.empty((0, 1), np.float32) if found is None else found

    def pairs(
        self,
        asker: Asker,
        images: list[int],
        pictures: Sequence[Picture],
        texts: list[str],
        keys: Keys,
        begin: int = 0,
    ) -> Iterator[Computed]:
        """Scores of a window of pairs: place k is the picture of number images[k] with texts[k]."""
        batches = self._batches(np.arange(len(texts)), begin)
        known = asker.stored(keys)
        missing = [[k for k in b.places.tolist() if known[k] is None] for b in batches]
        needed = [list(dict.fromkeys(images[k] for k in places)) for places in missing]
        with Feed(None, pictures, needed) as feed:

            def call(batch: Batch, places: Ints) -> Any:
                numbers = [images[k] for k in places.tolist()]
                if self.by_content:
                    seen = feed.take(batch.number - batches[0].number, numbers)
                else:
                    seen = [pictures[k] for k in numbers]
                return self.model.score_pairs(seen, [texts[k] for k in places.tolist()])

            yield from asker.compute(batches, keys, call, known)

    def _batches(self, order: Ints, begin: int) -> list[Batch]:
        size = self.limits.batch_size
        return in_batches(order, size, -(-begin // size))


def lengths(texts: Sequence[str]) -> list[tuple[int, int]]:
    """How long texts are: in words and marks, as most tokenizers count, then in characters."""
    return [(len(PIECES.findall(text)), len(text)) for text in texts]


def _room(n: int, width: int) -> Rows:
    """An array for n rows: in memory, or in a file that is gone when nobody needs it."""
    if 4 * n * width <= IN_MEMORY:
        return np.full((n, width), np.nan, np.float32)
    with tempfile.TemporaryFile() as file:
        rows = np.memmap(file, np.float32, "w+", shape=(n, width))
    rows[:] = np.nan
    return rows


Scores = npt.NDArray[np.floating]

AT_ONCE = 8192
"""How many inner products are taken at a time."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A score for each cell of a plan (NaN where there is none), and why, by image or by cell."""

    scores: Scores
    bad_images: dict[int, BadImage]
    bad_cells: dict[int, BadImage]


def score_plan(plan: ScorePlan, encoder: Encoder) -> Scored:
    """The scores of all cells."""
    if isinstance(encoder.model, DualEncoder):
        return _from_embeddings(plan, encoder)
    return _from_pairs(plan, encoder)


def _from_embeddings(plan: ScorePlan, encoder: Encoder) -> Scored:
    """Inner products in float32; a window of texts at a time, each with all its images.

    So the embeddings of texts, of which FOIL's T3 has millions, are never there all at once.
    """
    images, bad = encoder.images(plan.images)
    scores = np.full(len(plan.text), np.nan, np.float32)
    by_text = np.argsort(plan.text, kind="stable")
    ends = np.cumsum(np.bincount(plan.text, minlength=len(plan.first)))
    asker = encoder.asker("texts")
    for begin in range(0, len(plan.first), encoder.window):
        end = min(begin + encoder.window, len(plan.first))
        written = plan.texts(plan.first[begin:end])
        texts = encoder.texts(asker, written, plan.text_keys[begin:end], begin)
        if len(bad) < len(plan.images.pictures):
            _check_widths(encoder.model.facts.name, images, texts)
            wanted = by_text[ends[begin - 1] if begin else 0 : ends[end - 1]]
            for k in range(0, len(wanted), AT_ONCE):
                cells = wanted[k : k + AT_ONCE]
                left, right = images[plan.image[cells]], texts[plan.text[cells] - begin]
                scores[cells] = np.einsum("nd,nd->n", left, right)
        encoder.report("texts", end, len(plan.first))
    return Scored(scores, bad, {})


def _check_widths(model: str, images: Rows, texts: Rows) -> None:
    if images.shape[1] != texts.shape[1]:
        raise ModelFailed(
            f"{model} gives images {images.shape[1]} numbers and texts {texts.shape[1]}",
            allowed="embeddings of one length for both",
        )


def _from_pairs(plan: ScorePlan, encoder: Encoder) -> Scored:
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
        for part in encoder.pairs(asker, images, plan.images.pictures, texts, keys, begin):
            values[which[cells[part.batch.places]]] = part.rows[:, 0]
            bad |= {int(which[cells[k]]): error for k, error in part.bad.items()}
            encoder.report("scores", begin + int(part.batch.places[-1]) + 1, len(wanted))
    found = np.flatnonzero(np.isin(which, list(bad))).tolist() if bad else []
    return Scored(values[which], dict(unread), {cell: bad[int(which[cell])] for cell in found})


Progress = Callable[[int, int], None]
BATCH, TEXTS_AT_ONCE = 64, 1024


@dataclass(frozen=True, slots=True)
class _Rows:
    """A text scorer as the engine's encoder knows models: a row of one number a text."""

    scorer: TextScorer

    @property
    def facts(self) -> ModelInfo:
        """Those of the scorer."""
        return self.scorer.facts

    def embed_texts(self, texts: Sequence[str]) -> Any:
        return np.asarray(self.scorer.score_texts(texts)).reshape(-1, 1)


def score_texts(
    scorer: TextScorer,
    texts: Sequence[str],
    *,
    cache: Path | None = None,
    batch_size: int = BATCH,
    progress: Progress = lambda done, total: None,
) -> npt.NDArray[np.float64]:
    """One score a text, to the precision of float32.

    With a cache, and a scorer whose weights are known, a job that was stopped goes on where it was.
    """
    keys, first, number = numbered(text_keys(texts))
    some = [texts[k] for k in first.tolist()]
    order = np.array(sorted(range(len(some)), key=lambda k: (len(some[k]), some[k])), np.int64)
    kept = cache is not None and bool(scorer.facts.weights)
    shelf = open_shelf(cache, scorer.facts, SIZE_GB) if kept and cache is not None else None
    encoder = Encoder(_Rows(scorer), Limits(batch_size), shelf)
    at_once = batch_size * max(1, TEXTS_AT_ONCE // batch_size)
    asker = encoder.asker("texts")
    scores = np.empty(len(first))
    try:
        for begin in range(0, len(order), at_once):
            part = order[begin : begin + at_once]
            rows = encoder.texts(asker, [some[k] for k in part.tolist()], keys[part], begin)
            scores[part] = rows[:, 0]
            progress(begin + len(part), len(order))
    finally:
        if shelf is not None:
            shelf.close()
    return scores[number]
