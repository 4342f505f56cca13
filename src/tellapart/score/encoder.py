"""The engine's interface: embeddings or scores from a model for lists of any length.

An `Encoder` has the methods of models (`embed_images`, `embed_texts`, `score_pairs`, `score_texts`)
for lists of any length. Every distinct image, text or pair goes to the model once, texts in batches
of similar length; cached rows are not computed again. Models get one batch at a time.

Long lists are processed in windows, so that little is stored, decoded or written at a time; a
window is a whole number of batches.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadImage
from tellapart.models.language import TextScorer
from tellapart.models.model import CACHE_FORMAT, DualEncoder, ModelInfo, is_cacheable
from tellapart.pictures import Picture
from tellapart.score.batches import (
    Asker,
    Batch,
    BatchLimits,
    Computed,
    ModelFailed,
    RowKeeper,
    in_batches,
)
from tellapart.score.cells import text_keys
from tellapart.score.feed import Feed
from tellapart.score.plan import DistinctImages, ScorePlan, content_hash, numbered, pair_keys
from tellapart.score.ways import score_asked
from tellapart.store.cache import SIZE_GB
from tellapart.store.rows import Keys, Rows, Shelf
from tellapart.types import Floats, Ints, Progress, silent

BATCH = 64
WINDOW = 8192
TEXT_WINDOW = 1024
"""How many texts a text scorer gets between two progress reports."""
PIECES = re.compile(r"\w+|[^\w\s]")
IN_MEMORY = 256 << 20
"""Embeddings larger than this, in bytes, are kept in a temporary file."""
PRODUCTS = 8192
"""How many inner products are computed at a time."""


class RowShelf(Protocol):
    """Has a store of rows for each kind."""

    def store(self, kind: str) -> RowKeeper:
        """The store of images, texts or pairs."""
        ...


def open_shelf(root: Path, info: ModelInfo, size_gb: float = SIZE_GB) -> Shelf:
    """A model's part of the cache."""
    about = {key: str(value) for key, value in asdict(info).items()}
    return Shelf.open(root, info.fingerprint, {"format": CACHE_FORMAT, **about}, size_gb)


@dataclass(frozen=True, slots=True)
class TextWindow:
    """Texts that are asked for together: where they begin, and their places and keys."""

    begin: int
    places: Ints
    texts: list[str]
    keys: Keys


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model with its part of the cache; it computes only rows that are not stored.

    With `by_content`, pictures are identified by their bytes and read ahead of the model; without
    it, the model may never look at them and opens them itself.
    """

    model: Any
    limits: BatchLimits
    shelf: RowShelf | None = None
    skip_bad: bool = False
    by_content: bool = True
    report: Progress = silent
    so_far: Callable[[Callable[[], npt.NDArray[np.floating]]], None] = lambda scores: None
    """Called from time to time with the scores of all cells, NaN for those not computed yet."""

    def embed_images(self, images: DistinctImages) -> tuple[Rows, dict[int, BadImage]]:
        """One row per image (NaN for bad ones), and which are bad."""
        bad = dict(images.bad)
        if bad and not self.skip_bad:
            raise next(iter(bad.values()))
        n = len(images.pictures)
        good = np.array([k for k in range(n) if k not in bad], np.int64)
        asker = self.asker("images")
        rows: Rows | None = None
        for begin in range(0, len(good), self.window):
            part = good[begin : begin + self.window]
            for computed in self._image_window(asker, images, part, begin):
                places = part[computed.batch.places]
                rows = _room(n, computed.rows.shape[1]) if rows is None else rows
                if rows.shape[1] == computed.rows.shape[1]:
                    rows[places] = computed.rows
                bad |= {int(part[k]): error for k, error in computed.bad.items()}
                self.report("images", begin + int(computed.batch.places[-1]) + 1, len(good))
        return np.full((n, 1), np.nan, np.float32) if rows is None else rows, bad

    def embed_texts(self, texts: Sequence[str]) -> Rows:
        """One row per text, in float32."""
        keys, first, number = numbered(text_keys(texts))
        asker, parts = self.asker("texts"), []
        for begin in range(0, len(first), self.window):
            some = [texts[k] for k in first[begin : begin + self.window].tolist()]
            some_keys = keys[begin : begin + self.window]
            parts.append(self.text_window(asker, some, some_keys, begin))
            self.report("texts", begin + len(some), len(first))
        return np.concatenate(parts)[number] if parts else np.empty((0, 1), np.float32)

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """One score per pair; raises if a picture is bad or a score is not a number."""
        place = {picture: k for k, picture in enumerate(dict.fromkeys(pictures))}
        images = [place[picture] for picture in pictures]
        hashes = np.frombuffer(b"".join(map(content_hash, place)), np.uint64).reshape(-1, 2)
        keys = pair_keys(hashes[images], text_keys(texts))
        scores, asker = np.empty(len(texts)), self.asker("pairs")
        for begin in range(0, len(texts), self.window):
            part = slice(begin, begin + self.window)
            for computed in self.pair_window(
                asker, images[part], list(place), list(texts[part]), keys[part], begin
            ):
                at = begin + computed.batch.places
                wrong = np.flatnonzero(~np.isfinite(computed.rows[:, 0]))
                if len(wrong):
                    picture = pictures[int(at[wrong[0]])]
                    what = f"gives image {picture.id} a score that is not a number"
                    failed = ModelFailed(f"{self.model.facts.name} {what}")
                    raise next(iter(computed.bad.values()), failed)
                scores[at] = computed.rows[:, 0]
        return scores

    def score_texts(self, texts: Sequence[str]) -> Floats:
        """One score a text, to the precision of float32."""
        keys, first, number = numbered(text_keys(texts))
        scores, asker = np.empty(len(first)), self.asker("texts")
        for part in self.windows_by_length(texts, keys, first):
            rows = self.text_window(asker, part.texts, part.keys, part.begin, self.text_rows)
            scores[part.places] = rows[:, 0]
            self.report("texts", part.begin + len(part.texts), len(first))
        return scores[number]

    def windows_by_length(
        self, texts: Sequence[str], keys: Keys, first: Ints
    ) -> Iterator[TextWindow]:
        """The distinct texts, the shortest first, in windows as `score_texts` asks for them."""
        distinct = [texts[k] for k in first.tolist()]
        order = sorted(range(len(distinct)), key=lambda k: (len(distinct[k]), distinct[k]))
        size = self.limits.batch_size * max(1, TEXT_WINDOW // self.limits.batch_size)
        for begin in range(0, len(order), size):
            places = np.array(order[begin : begin + size], np.int64)
            some = [distinct[k] for k in places.tolist()]
            yield TextWindow(begin, places, some, keys[places])

    def text_rows(self, texts: list[str]) -> Any:
        """Scores of texts as rows."""
        return np.asarray(self.model.score_texts(texts)).reshape(-1, 1)

    def by_length(self, texts: Sequence[str]) -> Ints:
        """The places of texts by their length: what is batched together needs little padding.

        If the model has `text_lengths`, that defines the length.
        """
        measure = getattr(self.model, "text_lengths", lengths)
        order = sorted(zip(measure(texts), texts, range(len(texts)), strict=True))
        return np.array([k for _, _, k in order], np.int64)

    @property
    def window(self) -> int:
        """How many inputs are processed at a time."""
        return self.limits.batch_size * max(1, WINDOW // self.limits.batch_size)

    def asker(self, kind: str) -> Asker:
        """The asker for rows of one kind."""
        store = self.shelf.store(kind) if self.shelf else None
        return Asker(self.model.facts.name, kind, self.limits, store, self.skip_bad)

    def _image_window(
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

    def text_window(
        self,
        asker: Asker,
        texts: Sequence[str],
        keys: Keys,
        begin: int = 0,
        ask: Callable[[list[str]], Any] | None = None,
    ) -> Rows:
        """One row per text, for a window of texts; `ask` gets them from the model.

        Texts of similar length are batched together.
        """
        ask = ask or self.model.embed_texts
        batches = self._batches(self.by_length(texts), begin)

        def call(batch: Batch, places: Ints) -> Any:
            return ask([texts[k] for k in places.tolist()])

        rows: Rows | None = None
        for part in asker.compute(batches, keys, call, asker.stored(keys)):
            if rows is None:
                rows = np.empty((len(texts), part.rows.shape[1]), part.rows.dtype)
            rows[part.batch.places] = part.rows
        return np.empty((0, 1), np.float32) if rows is None else rows

    def pair_window(
        self,
        asker: Asker,
        images: list[int],
        pictures: Sequence[Picture],
        texts: list[str],
        keys: Keys,
        begin: int = 0,
    ) -> Iterator[Computed]:
        """Scores of a window of pairs: pair k is picture number images[k] with texts[k]."""
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
                return score_asked(self.model, seen, [texts[k] for k in places.tolist()])

            yield from asker.compute(batches, keys, call, known)

    def _batches(self, order: Ints, begin: int) -> list[Batch]:
        size = self.limits.batch_size
        return in_batches(order, size, -(-begin // size))


@contextmanager
def open_encoder(
    model: Any,
    *,
    cache: Path | None = None,
    cache_gb: float = SIZE_GB,
    cacheable: bool | None = None,
    batch_size: int = BATCH,
    skip_bad: bool = False,
    progress: Progress = silent,
) -> Iterator[Encoder]:
    """An encoder for a model, with a cache if one is given.

    `cacheable` says whether rows may be kept; if it is None, the model says so (`is_cacheable`).
    """
    kept = is_cacheable(model) if cacheable is None else cacheable
    shelf = open_shelf(cache, model.facts, cache_gb) if kept and cache is not None else None
    try:
        yield Encoder(model, BatchLimits(batch_size), shelf, skip_bad, report=progress)
    finally:
        if shelf is not None:
            shelf.close()


def embed_texts(model: Any, texts: Sequence[str], progress: Progress = silent) -> Rows:
    """One row per text, by a model that embeds; nothing is cached."""
    with open_encoder(model, progress=progress) as encoder:
        return encoder.embed_texts(texts)


def score_texts(
    scorer: TextScorer,
    texts: Sequence[str],
    *,
    cache: Path | None = None,
    batch_size: int = BATCH,
    progress: Progress = silent,
) -> Floats:
    """One score a text, to the precision of float32.

    With a cache, and a scorer whose weights are known, an interrupted job resumes.
    """
    known = bool(scorer.facts.weights)  # texts alone need no hashes of pictures in their keys
    with open_encoder(
        scorer, cache=cache, cacheable=known, batch_size=batch_size, progress=progress
    ) as encoder:
        return encoder.score_texts(texts)


def lengths(texts: Sequence[str]) -> list[tuple[int, int]]:
    """The length of texts: in words and punctuation, as most tokenizers count, then characters."""
    return [(len(PIECES.findall(text)), len(text)) for text in texts]


def _room(n: int, width: int) -> Rows:
    """An array for n rows: in memory, or in a temporary file that vanishes after use."""
    if 4 * n * width <= IN_MEMORY:
        return np.full((n, width), np.nan, np.float32)
    with tempfile.TemporaryFile() as file:
        rows = np.memmap(file, np.float32, "w+", shape=(n, width))
    rows[:] = np.nan
    return rows


@dataclass(frozen=True, slots=True)
class CellScores:
    """A score for each cell of a plan (NaN if missing), and the reasons, by image or cell."""

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
    """Inner products in float32, one window of texts at a time, each with all its images.

    FOIL's T3 has millions of texts, so their embeddings are never all in memory together.
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
        encoder.so_far(lambda: scores)
        encoder.report("texts", end, len(plan.first))
    return CellScores(scores, bad, {})


def _check_widths(model: str, images: Rows, texts: Rows) -> None:
    if images.shape[1] != texts.shape[1]:
        raise ModelFailed(
            f"{model} embeds images in {images.shape[1]} dimensions and texts in {texts.shape[1]}",
            allowed="embeddings of the same length for both",
        )


def _from_texts(plan: ScorePlan, encoder: Encoder) -> CellScores:
    """Every distinct text once, in float64; the model never looks at a picture."""
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


@dataclass(frozen=True, slots=True)
class WantedPairs:
    """The distinct pairs of a plan: one cell of each usable pair, and each cell's pair."""

    wanted: Ints
    which: Ints
    number: int


def wanted_pairs(plan: ScorePlan) -> WantedPairs:
    """Every distinct pair once, pairs of one image together, without bad images."""
    unread = plan.images.bad
    pairs = plan.image.astype(np.int64) * max(1, len(plan.first)) + plan.text
    _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
    wanted = first[~np.isin(plan.image[first], list(unread))] if unread else first
    return WantedPairs(wanted, which, len(first))


def _from_pairs(plan: ScorePlan, encoder: Encoder) -> CellScores:
    """Every distinct pair once; pairs of one image are adjacent, so it is opened once."""
    unread = plan.images.bad
    if unread and not encoder.skip_bad:
        raise next(iter(unread.values()))
    pairs = wanted_pairs(plan)
    wanted, which = pairs.wanted, pairs.which
    values = np.full(pairs.number, np.nan)
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
            encoder.so_far(lambda: values[which])
            encoder.report("scores", begin + int(part.batch.places[-1]) + 1, len(wanted))
    found = np.flatnonzero(np.isin(which, list(bad))).tolist() if bad else []
    return CellScores(values[which], dict(unread), {cell: bad[int(which[cell])] for cell in found})
