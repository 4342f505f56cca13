"""Parsing texts once with spaCy: tokens with lemma, part of speech and head.

Equal texts are parsed once, in several processes if there are many, and cached: the next call for
the same texts takes a second.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.seeds import digest
from tellapart.store.arrays import ArraySegments, arrays_bytes
from tellapart.text.parses import CODED, PLACES, Parses, TokenColumns
from tellapart.text.spacy_pipeline import (
    DEFAULT,
    Pipeline,
    find_pipeline,
    parse_columns,
    parse_in_processes,
)
from tellapart.types import AnyInts, Progress, silent
from tellapart.work.crew import ShardJob
from tellapart.work.shard import Shard, ShardResult
from tellapart.work.stages import StagedCrew

PART = 2048
"""How many texts are parsed, sent and stored together."""
LONGEST = 1_000_000
"""The most characters that spaCy accepts in one text."""
FORMAT = 1
"""The version of the stored format; increase it when the format changes, to drop old entries."""


def parse(
    texts: Sequence[str],
    *,
    model: str = DEFAULT,
    cache: Path | None = None,
    processes: int | None = None,
    progress: Progress = silent,
    crew: StagedCrew | None = None,
) -> Parses:
    """Parse texts with a spaCy pipeline, given by its name or its folder.

    Parses are cached in `parses/` in the folder `cache`; without one, nothing is cached. The same
    texts give the same columns, whatever was in the cache. A `crew` parses them in shards; its
    workers use the cache, too.
    """
    pipeline = find_pipeline(model)
    _check(texts)
    keys = [key_of(text) for text in texts]
    distinct = dict(zip(keys, texts, strict=True))
    gathered = _Gathered(dict.fromkeys(distinct))
    if crew is not None:
        for part, columns in _in_shards(crew, ParseTask(model, cache), distinct, progress):
            gathered.add(part, columns)
        return Parses(texts, gathered.columns(keys))
    segments = open_segments(cache, pipeline.fingerprint) if cache else None
    if segments:
        _read(segments, gathered)
    missing = [key for key in distinct if gathered.rows[key] is None]
    done = len(distinct) - len(missing)
    progress("parses", done, len(distinct))
    for part, columns in _parsed(pipeline, distinct, missing, processes):
        if segments:
            segments.add(part, columns.to_arrays())
        gathered.add(part, columns)
        done += len(part)
        progress("parses", done, len(distinct))
    if segments and missing:
        segments.make_room()
    return Parses(texts, gathered.columns(keys))


@dataclass(frozen=True, slots=True)
class ParseTask:
    """What workers do: the parses of some texts, through the cache of their machine."""

    model: str
    cache: Path | None

    def open(self) -> Callable[[list[str]], ShardResult]:
        """The pipeline is loaded for the first text that is not in the cache."""

        def parsed(texts: list[str]) -> ShardResult:
            parses = parse(texts, model=self.model, cache=self.cache, processes=1)
            return ShardResult(arrays_bytes(parses.columns.to_arrays()))

        return parsed


def _in_shards(
    crew: StagedCrew, task: ParseTask, distinct: dict[bytes, str], progress: Progress
) -> Iterator[tuple[list[bytes], TokenColumns]]:
    """The parses of all texts, by a crew."""
    keys = list(distinct)
    parts = [keys[k : k + PART] for k in range(0, len(keys), PART)]
    shards = [
        Shard(f"{number:06d}-{digest('parses', [key.hex() for key in part])[:16]}.npz", len(part),
              [distinct[key] for key in part])
        for number, part in enumerate(parts)
    ]  # fmt: skip
    stage = f"parses-{digest(FORMAT, find_pipeline(task.model).fingerprint)[:16]}"
    crew.do(stage, ShardJob("parses of captions", "texts", task, shards), progress)
    for part, shard in zip(parts, shards, strict=True):
        with np.load(crew.kept(stage).path(shard.name), allow_pickle=False) as arrays:
            yield part, TokenColumns.from_arrays(arrays)


def _check(texts: Sequence[str]) -> None:
    for text in texts:
        if len(text) > LONGEST:
            raise BadInput(
                f"a text of {len(text):,} characters is too long to parse: {text[:60]!r} ...",
                allowed=f"at most {LONGEST:,} characters",
            )


def _read(segments: ArraySegments, gathered: _Gathered) -> None:
    for path, keys in segments.every():
        if any(gathered.rows.get(key, True) is None for key in keys):
            arrays = segments.read(path)
            if arrays is not None:
                gathered.add(keys, TokenColumns.from_arrays(arrays))


def _parsed(
    pipeline: Pipeline, distinct: dict[bytes, str], missing: list[bytes], processes: int | None
) -> Iterator[tuple[list[bytes], TokenColumns]]:
    parts = [missing[k : k + PART] for k in range(0, len(missing), PART)]
    texts = [[distinct[key] for key in part] for part in parts]
    several = min(processes or os.cpu_count() or 1, len(parts))
    if several < 2:
        for part, captions in zip(parts, texts, strict=True):
            yield part, parse_columns(pipeline.source, captions)
        return
    for number, columns in parse_in_processes(pipeline.source, texts, several):
        yield parts[number], columns


@dataclass(slots=True)
class _Gathered:
    """Columns from several sources, and where each text is: (source, first row, last row)."""

    rows: dict[bytes, tuple[int, int, int] | None]
    sources: list[TokenColumns] = field(default_factory=list)

    def add(self, keys: Iterable[bytes], columns: TokenColumns) -> None:
        """Add the columns of the texts that are wanted."""
        starts = columns.starts.tolist()
        for key, first, last in zip(keys, starts, starts[1:], strict=False):
            if key in self.rows:
                self.rows[key] = (len(self.sources), first, last)
        self.sources.append(columns)

    def columns(self, keys: Sequence[bytes]) -> TokenColumns:
        """One table of all texts, in the order of `keys`, with codes in alphabetical order."""
        places = np.array([self.rows[key] for key in keys], np.int64).reshape(-1, 3)
        lengths = places[:, 2] - places[:, 1]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        offsets = np.cumsum([0, *(len(c.begin) for c in self.sources)])[:-1]
        first = (offsets[places[:, 0]] if len(offsets) else places[:, 0]) + places[:, 1]
        rows = np.arange(starts[-1]) + np.repeat(first - starts[:-1], lengths)
        parts: dict[str, Any] = {name: self._joined(name)[rows] for name in PLACES}
        for name, table in CODED.items():
            parts[name], parts[table] = self._coded(name, table, rows)
        return TokenColumns(starts=starts, **parts)

    def _joined(self, name: str) -> AnyInts:
        empty = np.empty(0, np.int32)
        return np.concatenate([empty, *(getattr(c, name) for c in self.sources)])

    def _coded(self, name: str, table: str, rows: AnyInts) -> tuple[AnyInts, tuple[str, ...]]:
        """A column of codes, and the sorted table of the values that occur."""
        known = sorted({word for c in self.sources for word in getattr(c, table)})
        place = {word: k for k, word in enumerate(known)}
        empty = np.empty(0, np.int32)
        recoded = [
            np.array([place[word] for word in getattr(c, table)], np.int32)[getattr(c, name)]
            for c in self.sources
        ]
        codes = np.concatenate([empty, *recoded])[rows]
        occurs = np.bincount(codes, minlength=len(known)) > 0
        dtype = np.int32 if name == "lemma" else np.int16
        closed_up = (np.cumsum(occurs) - 1).astype(dtype)
        return closed_up[codes], tuple(known[k] for k in np.flatnonzero(occurs).tolist())


def open_segments(root: Path, fingerprint: str) -> ArraySegments:
    """The parses of one pipeline in a cache: a file of arrays for each part of a job.

    A file is written whole as soon as its part is parsed, so an interrupted job resumes, and only
    the new texts of a grown corpus are parsed.
    """
    return ArraySegments.open(root, "parses", f"{FORMAT}-{fingerprint[:32]}")


def key_of(text: str) -> bytes:
    """The cache key of a text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
