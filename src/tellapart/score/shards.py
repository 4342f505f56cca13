"""Scoring in shards: rows of a plan's images, texts or pairs, a few whole batches at a time.

A shard has the same batches as the engine would form, so that its rows have the same bytes. A
worker gets the pictures and texts themselves and opens no benchmark; it makes a segment of a store
(`store/rows.py`), from which the engine then reads all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from tellapart.models.language import TextScorer
from tellapart.models.model import DualEncoder, ShownItem, is_cacheable
from tellapart.models.names import load
from tellapart.pictures import Picture
from tellapart.score.batches import BatchLimits
from tellapart.score.cells import text_keys
from tellapart.score.encoder import Encoder, open_shelf, wanted_pairs
from tellapart.score.job import model_id
from tellapart.score.plan import DistinctImages, ScorePlan, numbered, pair_keys
from tellapart.seeds import digest
from tellapart.store.cache import SIZE_GB
from tellapart.store.records import SUFFIX, record
from tellapart.store.rows import KINDS, Keys, Rows, Shelf, rows_record
from tellapart.types import Ints, Progress
from tellapart.work.crew import ShardJob
from tellapart.work.shard import Shard, ShardResult
from tellapart.work.stages import StagedCrew

BATCHES = 8
"""Batches per shard."""


@dataclass(frozen=True, slots=True)
class ScoreInputs:
    """What a worker scores: pictures, texts, or both (`images[k]` is the picture of text k).

    `begin` is the position of the first input among all of its kind.
    """

    kind: str
    keys: Keys
    begin: int
    pictures: tuple[Picture, ...] = ()
    texts: tuple[str, ...] = ()
    images: tuple[int, ...] = ()

    @property
    def shard(self) -> Shard:
        """As a shard, whose file is named by the content."""
        name = f"{self.kind}/{digest(self.kind, self.keys.tobytes().hex())[:32]}{SUFFIX}"
        return Shard(name, len(self.keys), self)


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """Distinct texts: the key of each, and what writes out those at some places."""

    keys: Keys
    written: Callable[[Ints], list[str]]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """Those of a list."""
        keys, first, _ = numbered(text_keys(texts))
        return cls(keys, lambda places: [texts[k] for k in first[places].tolist()])


def image_shards(images: DistinctImages, encoder: Encoder) -> list[Shard]:
    """All that `Encoder.embed_images` will ask of a model."""
    return [part.shard for part in _images(images, encoder)]


def text_shards(texts: Sequence[str], encoder: Encoder) -> list[Shard]:
    """All that `Encoder.embed_texts` will ask of a model, or `Encoder.score_texts`."""
    if isinstance(encoder.model, TextScorer):
        return [part.shard for part in _scored_texts(texts, encoder)]
    return [part.shard for part in _texts(DistinctTexts.of(texts), encoder, "texts")]


def _scored_texts(texts: Sequence[str], encoder: Encoder) -> Iterator[ScoreInputs]:
    """Parts of the encoder's own windows of texts, which are ordered by length."""
    size = BATCHES * encoder.limits.batch_size
    keys, distinct, _ = numbered(text_keys(texts))
    for window in encoder.windows_by_length(texts, keys, distinct):
        order = encoder.by_length(window.texts)
        for first in range(0, len(order), size):
            part = order[first : first + size]
            some = tuple(window.texts[k] for k in part.tolist())
            yield ScoreInputs("texts", window.keys[part], window.begin + first, texts=some)


def score_shards(plan: ScorePlan, encoder: Encoder) -> list[Shard]:
    """All that the engine will ask of a model for a plan, in the engine's order."""
    texts = DistinctTexts(plan.text_keys, lambda places: plan.texts(plan.first[places]))
    if isinstance(encoder.model, DualEncoder):
        parts = [*_images(plan.images, encoder), *_texts(texts, encoder, "texts")]
    elif isinstance(encoder.model, TextScorer):
        parts = [*_texts(texts, encoder, "pairs")]
    else:
        parts = [*_pairs(plan, encoder)]
    return [part.shard for part in parts]


def _cut(encoder: Encoder, number: int) -> Iterator[tuple[int, int]]:
    """Begin and end of shards: whole batches that do not cross the end of a window."""
    size = BATCHES * encoder.limits.batch_size
    for window in range(0, number, encoder.window):
        last = min(window + encoder.window, number)
        for begin in range(window, last, size):
            yield begin, min(begin + size, last)


def _images(images: DistinctImages, encoder: Encoder) -> Iterator[ScoreInputs]:
    good = np.array([k for k in range(len(images.pictures)) if k not in images.bad], np.int64)
    for begin, end in _cut(encoder, len(good)):
        part = good[begin:end]
        pictures = tuple(images.pictures[k] for k in part.tolist())
        yield ScoreInputs("images", images.keys[part], begin, pictures)


def _texts(distinct: DistinctTexts, encoder: Encoder, kind: str) -> Iterator[ScoreInputs]:
    """Texts ordered by length, window by window, as in `Encoder.text_window`."""
    order, texts, first = np.empty(0, np.int64), [""], -1
    for begin, end in _cut(encoder, len(distinct.keys)):
        window = begin - begin % encoder.window
        if window != first:
            first = window
            last = min(window + encoder.window, len(distinct.keys))
            texts = distinct.written(np.arange(window, last))
            order = encoder.by_length(texts)
        part = order[begin - window : end - window]
        keys = distinct.keys[window + part]
        yield ScoreInputs(kind, keys, begin, texts=tuple(texts[k] for k in part.tolist()))


def _pairs(plan: ScorePlan, encoder: Encoder) -> Iterator[ScoreInputs]:
    wanted = wanted_pairs(plan).wanted
    for begin, end in _cut(encoder, len(wanted)):
        cells: Ints = wanted[begin:end]
        numbers = plan.image[cells]
        keys = pair_keys(plan.images.keys[numbers], plan.text_keys[plan.text[cells]])
        used, images = np.unique(numbers, return_inverse=True)
        yield ScoreInputs(
            "pairs",
            keys,
            begin,
            tuple(plan.images.pictures[k] for k in used.tolist()),
            tuple(plan.texts(cells)),
            tuple(images.tolist()),
        )


@dataclass(frozen=True, slots=True)
class ScoringTask:
    """A model that workers load: a string, or an object that can be sent to them.

    `shown` are the items that a model fitted to a benchmark sees first.
    """

    model: Any
    batch_size: int
    skip_bad: bool
    by_content: bool
    cache: Path | None
    cache_gb: float
    shown: tuple[ShownItem, ...] | None = None

    def open(self) -> Callable[[ScoreInputs], ShardResult]:
        """Load the model."""
        model = load(self.model) if isinstance(self.model, str) else self.model
        if self.shown is not None:
            model.prepare(list(self.shown))
        return ShardScorer(self, model)


@dataclass(frozen=True, slots=True)
class ShardScorer:
    """A worker's model."""

    task: ScoringTask
    model: Any

    def __call__(self, given: ScoreInputs) -> ShardResult:
        """The rows of a shard, as a segment."""
        task = self.task
        cached = None
        if is_cacheable(self.model) and task.cache is not None:
            cached = open_shelf(task.cache, self.model.facts, task.cache_gb)
        try:
            store = ShardStore(given.kind, cached)
            limits = BatchLimits(task.batch_size)
            encoder = Encoder(self.model, limits, ShardShelf(store), task.skip_bad, task.by_content)
            self._score(encoder, given)
        finally:
            if cached is not None:
                cached.close()
        smaller = {"smaller": dict(limits.smaller)} if limits.smaller else {}
        return ShardResult(b"".join(store.records), smaller)

    def _score(self, encoder: Encoder, given: ScoreInputs) -> None:
        if given.images:
            asker, texts = encoder.asker("pairs"), list(given.texts)
            images = list(given.images)
            for _ in encoder.pair_window(
                asker, images, given.pictures, texts, given.keys, given.begin
            ):
                pass
        elif given.pictures:
            encoder.embed_images(DistinctImages(list(given.pictures), given.keys))
        else:
            ask = None
            if isinstance(self.model, TextScorer):
                ask = self.model.score_texts if given.kind == "pairs" else encoder.text_rows
            asker = encoder.asker(given.kind)
            encoder.text_window(asker, given.texts, given.keys, given.begin, ask)


@dataclass(slots=True)
class ShardStore:
    """The rows of one shard as they are computed; a cache serves a shard whole or not at all.

    Using a part of the rows from the cache would change the batches of the others.
    """

    kind: str
    cached: Shelf | None = None
    records: list[bytes] = field(default_factory=list)

    def read(self, keys: Keys) -> list[Rows | None]:
        """All rows if the cache has them all, else none."""
        found = self.cached.store(self.kind).read(keys) if self.cached else []
        rows = [row for row in found if row is not None]
        if len(rows) < len(keys) or len({len(row) for row in rows}) != 1:
            return [None] * len(keys)
        self._note(keys, np.stack(rows))
        return list(found)

    def add(self, keys: Keys, rows: Rows) -> None:
        """Store a batch, in the cache, too."""
        if len(keys):
            self._note(keys, rows)
            if self.cached is not None:
                self.cached.store(self.kind).add(keys, rows)

    def _note(self, keys: Keys, rows: Rows) -> None:
        self.records += record(*rows_record(keys, rows, np.dtype(KINDS[self.kind])))


@dataclass(frozen=True, slots=True)
class ShardShelf:
    """A shelf with the one store that a shard needs."""

    one: ShardStore

    def store(self, kind: str) -> ShardStore:
        """The only store."""
        return self.one


@dataclass(frozen=True, slots=True)
class EncodingCrew:
    """A crew that computes rows of a model, which its workers load from `source`."""

    crew: StagedCrew
    source: Any
    cache: Path | None = None
    cache_gb: float = SIZE_GB

    @contextmanager
    def encoder(
        self, stage: str, shards: Sequence[Shard], encoder: Encoder, progress: Progress
    ) -> Iterator[Encoder]:
        """An encoder that reads the rows of shards, which the crew computes first."""
        task = ScoringTask(
            self.source, encoder.limits.batch_size, encoder.skip_bad, encoder.by_content,
            self.cache.resolve() if self.cache else None, self.cache_gb,
        )  # fmt: skip
        stage = f"{stage}-{model_id(encoder.model)}"
        job = ShardJob(f"{encoder.model.facts.name}, {stage}", "inputs", task, shards)
        self.crew.do(stage, job, progress)
        with closing(Shelf(self.crew.kept(stage).folder)) as shelf:
            yield replace(encoder, shelf=shelf)
