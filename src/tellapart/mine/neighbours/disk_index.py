"""Nearest vectors of collections larger than the memory: inverted lists of short codes, on disk.

IVF-PQ by faiss (Jegou, Douze & Schmid 2011; Douze et al. 2024): a vector is in the list of the
centre nearest to it, as a code of a byte for each few of its numbers. Centres and codes are trained
on a sample; vectors are coded shard by shard, and merged on disk. What a search finds by codes is
compared once more by the vectors themselves, which stay on disk. Lists have the same length
however many vectors there are, and centres are found through a graph (HNSW), so that a search takes
hardly longer among more vectors. How many lists are looked at is the smallest number that finds
enough of the true neighbours of a sample.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.errors import need
from tellapart.files import whole_file
from tellapart.types import Floats32

LIST = 128
"""How many vectors a list has, about."""
MOST_LISTS = 1 << 16
A_LIST = 16
"""Vectors of the sample for each list."""
SAMPLE_BYTES = 256 << 20
ROUNDS = 3
POINTS, CODE_ROUNDS = 64, 10
"""Codes are trained on this many vectors for each of their 256 values, in so many rounds."""
LINKS, TRIED = 32, 64
"""The graph of centres: links of each, and how many are looked at when one is put in."""
TARGET = 0.965
"""The share of the true neighbours of the sample that must be found."""
TUNED_ON, MEASURED_ON = 256, 512
EXACT_UP_TO = 20_000
"""Up to this many vectors each is compared with every other."""
CODED = 8_192
"""Vectors that are coded at a time."""
BLOCK_BYTES = 32 << 20
"""Room for the vectors that one block of queries is compared with."""
PAGES = 1 << 14
"""Bytes that looking at a list takes besides those of the list: memory comes in pages."""
LISTS_BYTES = 96 << 20
"""Room for the lists that are looked at together."""
DIGITS = 6
MARGIN = 10.0**-DIGITS

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowShard:
    """A file of vectors on disk: `rows` of unit length, whose each image is, which are first.

    The file holds the vectors in float32, then a number for each text, then one for each image.
    """

    path: Path
    first: int
    rows: int
    width: int

    @property
    def vectors(self) -> Floats32:
        """The vectors, mapped: they take memory as they are looked at."""
        return np.memmap(self.path, np.float32, "r", 0, (self.rows, self.width))

    @property
    def texts(self) -> npt.NDArray[np.uint64]:
        """For each row a number that equal texts share."""
        return self._numbers(0)

    @property
    def images(self) -> npt.NDArray[np.uint64]:
        """For each row a number that captions of one image share."""
        return self._numbers(1)

    def _numbers(self, place: int) -> npt.NDArray[np.uint64]:
        start = self.rows * (4 * self.width + 8 * place)
        with self.path.open("rb") as file:
            file.seek(start)
            return np.frombuffer(file.read(8 * self.rows), np.uint64)


@dataclass(frozen=True, eq=False)
class VectorFiles:
    """All vectors, shard after shard; `kept` marks those that stand for all of their text.

    `memory` is how many bytes of them may be resident at a time: a shard counts as a whole as soon
    as a row of it is looked at, and all are given back before another would be too much.
    """

    shards: Sequence[RowShard]
    kept: npt.NDArray[np.bool_]
    memory: int
    _open: dict[int, Any] = field(default_factory=dict, repr=False, init=False)
    _images: dict[int, Any] = field(default_factory=dict, repr=False, init=False)
    _resident: set[int] = field(default_factory=set, repr=False, init=False)

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return self.shards[0].width

    @property
    def size(self) -> int:
        """Vectors of a whole shard: all but the last have so many."""
        return self.shards[0].rows

    @cached_property
    def number(self) -> int:
        """How many rows are kept."""
        return int(self.kept.sum())

    def mapped(self, shard: int) -> Floats32:
        """The vectors of a shard."""
        if shard not in self._open:
            self._open[shard] = self.shards[shard].vectors
        vectors: Floats32 = self._open[shard]
        return vectors

    def images(self, rows: Rows) -> npt.NDArray[np.uint64]:
        """The images of rows."""
        found = np.empty(rows.shape, np.uint64)
        self._gather(rows, found, self._images_of)
        return found

    def _images_of(self, shard: int) -> npt.NDArray[np.uint64]:
        if shard not in self._images:
            one = self.shards[shard]
            start = one.rows * (4 * one.width + 8)
            self._images[shard] = np.memmap(one.path, np.uint64, "r", start, (one.rows,))
        numbers: npt.NDArray[np.uint64] = self._images[shard]
        return numbers

    def rows(self, rows: Rows) -> Floats32:
        """The vectors of some rows, in any order."""
        found = np.empty((*rows.shape, self.width), np.float32)
        self._gather(rows, found, self.mapped)
        return found

    def _gather(self, rows: Rows, into: Any, source: Callable[[int], Any]) -> None:
        flat, out = rows.ravel(), into.reshape(rows.size, *into.shape[rows.ndim :])
        order = np.argsort(flat, kind="stable")
        bounds = np.searchsorted(flat[order], np.arange(len(self.shards) + 1) * self.size)
        for shard, (begin, end) in enumerate(pairwise(bounds)):
            if begin < end:
                places = order[begin:end]
                self._make_room(shard)
                out[places] = source(shard)[flat[places] - shard * self.size]

    def _make_room(self, shard: int) -> None:
        """Before a shard is looked at: give back all others where there is no room for it, too."""
        if shard in self._resident:
            return
        each = self.size * (4 * self.width + 8)
        if (len(self._resident) + 1) * each > self.memory:
            self.give_back()
        self._resident.add(shard)

    def give_back(self) -> None:
        """Give back the memory that mapped vectors take; what is looked at is read again."""
        for mapped in (*self._open.values(), *self._images.values()):
            mapped._mmap.madvise(mmap.MADV_DONTNEED)
        self._resident.clear()

    def sample(self, number: int, seed: int, what: str) -> Rows:
        """Some kept rows, in order."""
        rng = seeds.rng(seed, "vectors on disk", what)
        places = np.sort(rng.choice(self.number, size=min(number, self.number), replace=False))
        counts = np.cumsum([int(self.kept[s : s + self.size].sum()) for s in self._starts])
        found = []
        for shard, start in enumerate(self._starts):
            before = counts[shard - 1] if shard else 0
            mine = places[(places >= before) & (places < counts[shard])] - before
            found.append(start + np.flatnonzero(self.kept[start : start + self.size])[mine])
        return np.concatenate(found).astype(np.int64)

    @property
    def _starts(self) -> range:
        return range(0, len(self.kept), self.size)

    def kept_rows(self, shard: int) -> Rows:
        """The rows of a shard that are kept."""
        start = shard * self.size
        return (start + np.flatnonzero(self.kept[start : start + self.size])).astype(np.int64)


def first_of_each_text(shards: Sequence[RowShard], memory: int) -> npt.NDArray[np.bool_]:
    """Which rows are the first with their text.

    Texts are looked at in parts by their numbers, as many as fit into the memory.
    """
    total = sum(one.rows for one in shards)
    parts = max(1, ceil(64 * total / memory))
    kept = np.zeros(total, bool)
    for part in range(parts):
        found = []
        for one in shards:
            texts = one.texts
            mine = np.flatnonzero(texts % np.uint64(parts) == part)
            found.append((texts[mine], mine + one.first))
        texts, rows = (np.concatenate(column) for column in zip(*found, strict=True))
        _, first = np.unique(texts, return_index=True)  # the first, as rows come in order
        kept[rows[first]] = True
    return kept


@dataclass(frozen=True, slots=True)
class IndexShape:
    """How an index is laid out, from the number of vectors and their width alone."""

    width: int
    lists: int
    codes: int
    sample: int

    @classmethod
    def of(cls, number: int, width: int) -> IndexShape:
        """For so many vectors."""
        each = 2 if width <= 128 else 4 if width <= 512 else 8
        codes = ceil(width / each)
        most = SAMPLE_BYTES // (4 * codes * each)
        lists = int(np.clip(number // LIST, 1, min(MOST_LISTS, most // A_LIST)))
        return cls(codes * each, lists, codes, min(number, most, max(A_LIST * lists, 1 << 16)))

    def padded(self, vectors: Floats32) -> Floats32:
        """Vectors with zeros behind them, for a width that codes divide."""
        missing = self.width - vectors.shape[1]
        wide = np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors
        return np.ascontiguousarray(wide, np.float32)


def train_index(files: VectorFiles, shape: IndexShape, seed: int, path: Path) -> None:
    """Train centres and codes on a sample, and write an index that is empty."""
    faiss = need("faiss", "text", "a search past memory")
    sample = shape.padded(files.rows(files.sample(shape.sample, seed, "training")))
    files.give_back()
    rng = seeds.rng(seed, "centres")
    centres = sample[np.sort(rng.choice(len(sample), size=shape.lists, replace=False))].copy()
    threads = faiss.omp_get_max_threads()
    for _ in range(ROUNDS):
        near = _graph(faiss, centres, shape).search(sample, 1)[1][:, 0]
        sums = np.zeros(centres.shape, np.float64)
        np.add.at(sums, near, sample)
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(lengths > 0, sums / np.maximum(lengths, 1e-12), centres).astype("f4")
    graph = _graph(faiss, centres, shape)
    index = faiss.IndexIVFPQ(
        graph, shape.width, shape.lists, shape.codes, 8, faiss.METRIC_INNER_PRODUCT
    )
    index.pq.cp.seed = seeds.number(seed, "codes") % (1 << 31)
    index.pq.cp.min_points_per_centroid = 1
    index.pq.cp.max_points_per_centroid, index.pq.cp.niter = POINTS, CODE_ROUNDS
    index.train(sample)
    faiss.omp_set_num_threads(threads)
    with whole_file(path) as partial:
        faiss.write_index(index, str(partial))


def _graph(faiss: Any, centres: Floats32, shape: IndexShape) -> Any:
    """Centres that can be sought; put in by one thread, as several give another graph each time."""
    graph = faiss.IndexHNSWFlat(shape.width, LINKS, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = graph.hnsw.efSearch = TRIED
    threads = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    graph.add(centres)
    faiss.omp_set_num_threads(threads)
    return graph


def coded(trained: Path, shape: IndexShape, files: VectorFiles, rows: Rows) -> bytes:
    """An index of some rows, as the content of a file."""
    faiss = need("faiss", "text", "a search past memory")
    index = faiss.read_index(str(trained))
    for start in range(0, len(rows), CODED):
        some = rows[start : start + CODED]
        index.add_with_ids(shape.padded(files.rows(some)), some)
    # Lists are all that is merged: the centres would stand in the file of every shard.
    centres, index.own_fields = index.quantizer, False
    index.quantizer = nothing = faiss.IndexFlatIP(shape.width)
    data: bytes = faiss.serialize_index(index).tobytes()
    index.quantizer, index.own_fields = centres, True
    del nothing
    return data


def merge(trained: Path, parts: Sequence[Path], folder: Path) -> Path:
    """Put the lists of all parts together on disk, in a new folder; the index knows its path."""
    faiss = need("faiss", "text", "a search past memory")
    from faiss.contrib.ondisk import merge_ondisk

    made = Path(tempfile.mkdtemp(prefix="merged-", dir=folder))
    index = faiss.read_index(str(trained))
    with _no_chatter():
        merge_ondisk(index, [str(part) for part in parts], str(made / LISTS))
    faiss.write_index(index, str(made / INDEX))
    return made


@contextmanager
def _no_chatter() -> Iterator[None]:
    """What faiss prints while it makes files larger must not stand among results."""
    library = ctypes.CDLL(None)
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        library.fflush(None)  # it stays in the buffer of C otherwise
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


INDEX, LISTS = "index.faiss", "lists.ivfdata"


@dataclass(frozen=True, slots=True)
class Effort:
    """How much a search looks at: lists, and vectors that are compared once more."""

    looked_at: int
    candidates: int


Found = tuple[Rows, Floats32]
"""The nearest rows of each query, best first, and their cosines; -1 and 0 where there are none."""


@dataclass(frozen=True, eq=False)
class DiskSearch:
    """Seeks the k nearest kept rows of other images; without a folder, among all of them."""

    files: VectorFiles
    shape: IndexShape
    k: int
    folder: Path | None = None

    def nearest(self, queries: Rows, effort: Effort) -> Found:
        """What is found with some effort."""
        parts = [
            self._reranked(block, self._candidates(block, effort))
            for block in self._blocks(queries, effort.candidates)
        ]
        return _joined(parts)

    def _candidates(self, queries: Rows, effort: Effort) -> Rows:
        faiss = need("faiss", "text", "a search past memory")
        graph = faiss.downcast_index(self._index.quantizer)
        graph.hnsw.efSearch = max(TRIED, 2 * effort.looked_at)
        self._index.nprobe = effort.looked_at
        vectors = self.shape.padded(self.files.rows(queries))
        step = self._together(effort)
        found = []
        for start in range(0, len(vectors), step):
            found.append(self._index.search(vectors[start : start + step], effort.candidates)[1])
            if self._lists.totsize > LISTS_BYTES:
                self._let_lists_go()
        return np.concatenate(found)

    @cached_property
    def _lists(self) -> Any:
        faiss = need("faiss", "text", "a search past memory")
        lists = faiss.downcast_InvertedLists(self._index.invlists)
        lists.prefetch_nthread = 0  # threads that read ahead would bring back what was given back
        return lists

    def _together(self, effort: Effort) -> int:
        """How many queries may be asked before the lists that they look at are given back."""
        if self._lists.totsize <= LISTS_BYTES:
            return 1 << 30
        a_list = PAGES + (self.shape.codes + 8) * self.files.number // self.shape.lists
        return max(1, LISTS_BYTES // (a_list * effort.looked_at))

    def _let_lists_go(self) -> None:
        """Give back the memory that the lists on disk take."""
        address, size = ctypes.c_void_p(int(self._lists.ptr)), ctypes.c_size_t(self._lists.totsize)
        ctypes.CDLL(None).madvise(address, size, mmap.MADV_DONTNEED)

    @cached_property
    def _index(self) -> Any:
        faiss = need("faiss", "text", "a search past memory")
        assert self.folder is not None
        return faiss.read_index(str(self.folder / INDEX))

    def _blocks(self, queries: Rows, candidates: int) -> Iterator[Rows]:
        size = max(1, BLOCK_BYTES // (4 * self.files.width * candidates))
        for start in range(0, len(queries), size):
            yield queries[start : start + size]

    def _reranked(self, queries: Rows, candidates: Rows) -> Found:
        """The best of the candidates by their vectors; equal ones in the order of the rows."""
        candidates = np.sort(candidates, axis=1)
        there = np.maximum(candidates, 0)
        wide = np.einsum("qd,qcd->qc", self.files.rows(queries), self.files.rows(there))
        similar = np.round(wide, DIGITS)
        own = self.files.images(queries)[:, None]
        wrong = (candidates < 0) | (candidates == queries[:, None])
        similar[wrong | (self.files.images(there) == own)] = -np.inf
        best = np.argsort(-similar, axis=1, kind="stable")[:, : self.k]
        values = np.take_along_axis(similar, best, axis=1)
        rows = np.where(np.isfinite(values), np.take_along_axis(candidates, best, axis=1), -1)
        values = np.where(np.isfinite(values), values, 0).astype(np.float32)
        missing = ((0, 0), (0, self.k - rows.shape[1]))
        return np.pad(rows, missing, constant_values=-1), np.pad(values, missing)

    def exact(self, queries: Rows) -> Found:
        """The true nearest: each query is compared with every kept row."""
        best: Found = (
            np.full((len(queries), self.k), -1, np.int64),
            np.full((len(queries), self.k), -np.inf, np.float32),
        )
        asked, own = self.files.rows(queries), self.files.images(queries)[:, None]
        for shard in range(len(self.files.shards)):
            rows = self.files.kept_rows(shard)
            for start in range(0, len(rows), 8192):
                part = rows[start : start + 8192]
                similar = np.round(asked @ self.files.rows(part).T, DIGITS)
                wrong = part[None] == queries[:, None]
                similar[wrong | (self.files.images(part)[None] == own)] = -np.inf
                best = _better(best, np.broadcast_to(part, similar.shape), similar, self.k)
        rows, values = best
        there = np.isfinite(values)
        return np.where(there, rows, -1), np.where(there, values, 0).astype(np.float32)

    def all_exact(self, queries: Rows) -> Found:
        """The same for many queries."""
        parts = [self.exact(queries[k : k + 512]) for k in range(0, len(queries), 512)]
        return _joined(parts) if parts else self.exact(queries)

    def effort(self, seed: int) -> Effort:
        """The least effort that finds enough of a sample's true neighbours."""
        queries = self.files.sample(TUNED_ON, seed, "effort")
        true = self.exact(queries)
        chosen = Effort(1, min(8 * self.k + 24, self.files.number))
        best = 0.0
        while True:
            now = recall(self.nearest(queries, chosen), true)
            if now >= TARGET or chosen.looked_at >= self.shape.lists:
                return chosen
            if now < best + 0.002 and chosen.candidates < 64 * self.k:
                chosen = Effort(chosen.looked_at, 2 * chosen.candidates)  # codes are too coarse
            else:
                more = min(ceil(1.5 * chosen.looked_at), self.shape.lists)
                chosen = Effort(more, chosen.candidates)
            best = max(best, now)


def _better(best: Found, rows: Rows, similar: Floats32, k: int) -> Found:
    rows, similar = np.hstack([best[0], rows]), np.hstack([best[1], similar])
    if similar.shape[1] > 4 * k:
        limit = np.partition(similar, similar.shape[1] - k, axis=1)[:, [similar.shape[1] - k]]
        some = max(k, int((similar >= limit).sum(axis=1).max()))
        near = np.sort(np.argpartition(-similar, some - 1, axis=1)[:, :some], axis=1)
        rows, similar = np.take_along_axis(rows, near, 1), np.take_along_axis(similar, near, 1)
    order = np.argsort(-similar, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(rows, order, 1), np.take_along_axis(similar, order, 1)


def _joined(parts: Sequence[Found]) -> Found:
    rows, values = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(values)


def recall(found: Found, true: Found) -> float:
    """The share of true neighbours that are found; one as near as the last counts as it."""
    last = np.where(true[0] >= 0, true[1], np.inf).min(axis=1, keepdims=True)
    hits = ((found[0] >= 0) & (found[1] >= last - MARGIN)).sum(axis=1)
    wanted = (true[0] >= 0).sum(axis=1)
    return float(np.minimum(hits, wanted).sum() / max(1, wanted.sum()))
