"""A store: rows of numbers by the content that they were computed from.

A folder of append-only segments (see `records.py`). A record holds a batch: its keys (16 bytes
each), then one row a key. Every process writes to segments of its own, so that any number can share
a folder; the index is made from the files when the store is opened.
"""

from __future__ import annotations

import os
import struct
import time
import warnings
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.files import write_json
from tellapart.store.cache import SIZE_GB, make_room, unwritable
from tellapart.store.records import SUFFIX, RecordPlace, RecordWriter, body, bury, cut, places
from tellapart.types import Ints

Keys = npt.NDArray[np.uint64]
"""Contents by their 128-bit hashes, shape (n, 2)."""
Rows = npt.NDArray[np.floating]

SEGMENT = 64 << 20
"""Bytes after which a new segment is begun."""
KEPT = 32
"""How many checked records are kept in memory."""
SHAPE = struct.Struct("<III")
KINDS = {"images": "<f4", "texts": "<f4", "pairs": "<f8"}
"""The kinds of rows, and how their numbers are stored."""


class Damaged(UserWarning):
    """A part of a store was damaged; it is computed again."""


def rows_record(keys: Keys, rows: Rows, dtype: np.dtype[Any]) -> tuple[bytes, bytes, bytes]:
    """The body of the record of a batch."""
    n, d = rows.shape
    return (
        SHAPE.pack(n, d, dtype.itemsize),
        np.ascontiguousarray(keys, np.uint64).tobytes(),
        np.ascontiguousarray(rows, dtype).tobytes(),
    )


class RowStore:
    """Rows of one kind (`dtype`) of one model, on disk."""

    def __init__(self, folder: Path, dtype: str = "<f4") -> None:
        self.folder, self.dtype = folder, np.dtype(dtype)
        self._writer: RecordWriter | None = None
        self._files: list[Path] = []
        self._open: dict[int, BinaryIO | None] = {}
        self._checked: OrderedDict[int, Rows | None] = OrderedDict()
        self._warned = False
        self._index()

    def _index(self) -> None:
        """Read the keys of all records, newest segments last: of equal keys the last one counts."""
        self._places: list[tuple[int, RecordPlace]] = []
        keys: list[Keys] = []
        numbers: list[Ints] = []
        for path in sorted(self.folder.glob(f"*{SUFFIX}")):
            try:
                file = path.open("rb")
            except OSError:
                continue  # another process took it away to make room
            with file:
                self._files.append(path)
                for place in places(file):
                    if isinstance(place, int):
                        self._warn(path)
                        cut(path, place)
                        break
                    of_record = self._keys_at(file, place)
                    if of_record is not None:
                        numbers.append(np.full(len(of_record), len(self._places), np.int64))
                        self._places.append((len(self._files) - 1, place))
                        keys.append(of_record)
        every = np.concatenate(keys) if keys else np.empty((0, 2), np.uint64)
        number = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
        row = np.concatenate([np.arange(len(k)) for k in keys]) if keys else number
        order = np.lexsort((number, every[:, 1], every[:, 0]))
        self._keys, self._number, self._row = every[order], number[order], row[order]
        self._first_half = np.ascontiguousarray(self._keys[:, 0])

    def _keys_at(self, file: BinaryIO, place: RecordPlace) -> Keys | None:
        file.seek(place.start)
        head = file.read(SHAPE.size)
        if len(head) < SHAPE.size:
            return None
        n, d, size = SHAPE.unpack(head)
        if size != self.dtype.itemsize or SHAPE.size + n * (16 + d * size) != place.length:
            return None
        return np.frombuffer(file.read(16 * n), np.uint64).reshape(n, 2)

    def __len__(self) -> int:
        return len(self._keys)

    def read(self, keys: Keys) -> list[Rows | None]:
        """For each key its row, or None where there is none that is whole."""
        found: list[Rows | None] = [None] * len(keys)
        if not len(self._keys) or not len(keys):
            return found
        last = np.searchsorted(self._first_half, keys[:, 0], side="right") - 1
        hits = (last >= 0) & (self._keys[last] == keys).all(axis=1)
        for k in np.flatnonzero(hits):
            rows = self._record(int(self._number[last[k]]))
            if rows is not None:
                found[k] = rows[self._row[last[k]]]
        return found

    def _record(self, number: int) -> Rows | None:
        """The rows of a record, checked when it is first read."""
        if number in self._checked:
            self._checked.move_to_end(number)
            return self._checked[number]
        which, place = self._places[number]
        file = self._file(which)
        data = body(file, place) if file else None
        rows: Rows | None = None
        if data is not None:
            n, d, _ = SHAPE.unpack_from(data)
            rows = np.frombuffer(data, self.dtype, offset=SHAPE.size + 16 * n).reshape(n, d)
        elif file is not None:
            self._warn(self._files[which])
            bury(self._files[which], place)
        self._checked[number] = rows
        if len(self._checked) > KEPT and rows is not None:
            # The oldest whole record goes; which ones are damaged stays known.
            del self._checked[next(k for k, old in self._checked.items() if old is not None)]
        return rows

    def _file(self, which: int) -> BinaryIO | None:
        if which not in self._open:
            path = self._files[which]
            try:
                self._open[which] = path.open("rb")
                os.utime(path)  # used: the last to go when room is needed
            except OSError:
                self._open[which] = None
        return self._open[which]

    def add(self, keys: Keys, rows: Rows) -> None:
        """Keep a batch; what is added is not read back by this process."""
        if not len(keys):
            return
        if self._writer is None or self._writer.size > SEGMENT:
            self._close_writer()
            name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(3).hex()}{SUFFIX}"
            self._writer = RecordWriter(self.folder / name)
        self._writer.append(*rows_record(keys, rows, self.dtype))

    def _close_writer(self) -> None:
        if self._writer:
            self._writer.close()
            self._writer = None

    def close(self) -> None:
        """Let go of all files."""
        self._close_writer()
        for file in self._open.values():
            if file:
                file.close()
        self._open.clear()

    def _warn(self, path: Path) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"a part of {path} is damaged: it is removed and computed again",
                Damaged,
                stacklevel=2,
            )


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder with the rows of one model, a store for each kind of row.

    `root` is the cache that it belongs to, and `limit` the cache's size in bytes; without a root
    (the rows of an unfinished job) nothing is removed.
    """

    folder: Path
    root: Path | None = None
    limit: int = int(SIZE_GB * 1e9)
    _stores: dict[str, RowStore] = field(default_factory=dict)

    @classmethod
    def open(cls, root: Path, fingerprint: str, about: Mapping[str, Any], size_gb: float) -> Shelf:
        """The part of a cache for the rows of one fingerprint, of which `about` tells."""
        if size_gb <= 0:
            raise BadInput(f"a cache of {size_gb} GB holds nothing", allowed="more than 0")
        folder = root / "scores" / fingerprint[:32]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / "about.json").exists():
                write_json(folder / "about.json", about)
        except OSError as error:
            todo = "name another folder with --cache, or do without with --no-cache"
            raise unwritable(folder, error, todo) from None
        return cls(folder, root, int(size_gb * 1e9))

    def store(self, kind: str) -> RowStore:
        """The store of images, texts or pairs."""
        if kind not in self._stores:
            self._stores[kind] = RowStore(self.folder / kind, KINDS[kind])
        return self._stores[kind]

    def close(self) -> None:
        """Let go of all files, then make room."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        if self.root is not None:
            make_room(self.root, self.limit)
