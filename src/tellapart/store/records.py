"""Append-only files of records, each with its own checksum.

A record is a mark (4 bytes), the length of its body (8 bytes, little-endian), the body's blake2b
checksum (16 bytes), and the body. A process that is killed while it writes leaves a torn record at
the end, which readers pass over; one that is found damaged is marked as dead in its place.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tellapart.errors import DiskFull, disk_is_full

SUFFIX = ".segment"
ALIVE, DEAD = b"TAr1", b"TArX"
HEAD = struct.Struct("<4sQ16s")


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where the body of a record stands in its file."""

    start: int
    length: int
    checksum: bytes


class RecordWriter:
    """Appends records to a file of its own, which it makes when there is a first one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: BinaryIO | None = None

    def append(self, *parts: bytes | memoryview) -> RecordPlace:
        """Write one record; on a full disk the file is left as it was."""
        head = head_of(parts)
        try:
            file = self._opened()
            before = file.tell()
            try:
                for part in (head, *parts):
                    write_all(file, part)
            except OSError:
                file.truncate(before)
                file.seek(before)  # what comes next is appended there, and is told to be there
                raise
        except OSError as error:
            if disk_is_full(error):
                raise DiskFull(self.path) from error
            raise
        _, length, checksum = HEAD.unpack(head)
        return RecordPlace(before + HEAD.size, length, checksum)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell() if self._file else 0

    def close(self) -> None:
        """Let go of the file."""
        if self._file:
            self._file.close()
            self._file = None

    def _opened(self) -> BinaryIO:
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Unbuffered: what append has returned from outlives the process.
            self._file = self.path.open("ab", buffering=0)
            self._file.seek(0, os.SEEK_END)
        return self._file


def head_of(parts: Sequence[bytes | memoryview]) -> bytes:
    """What stands before the body of a record."""
    summed = hashlib.blake2b(digest_size=16)
    for part in parts:
        summed.update(part)
    return HEAD.pack(ALIVE, sum(len(part) for part in parts), summed.digest())


def record(*parts: bytes) -> list[bytes]:
    """A record as it stands in a file."""
    return [head_of(parts), *parts]


def write_all(file: BinaryIO, data: bytes | memoryview) -> None:
    """Write everything, in as many calls as the system needs."""
    rest = memoryview(data).cast("B")
    while rest:
        rest = rest[file.write(rest) :]


def places(file: BinaryIO) -> Iterator[RecordPlace | int]:
    """The records of a file that are alive; a last number says from which byte on it is damaged.

    Bodies are not checked here (see `body`), so that an index is made without reading them.
    """
    end = file.seek(0, os.SEEK_END)
    at = 0
    while at + HEAD.size <= end:
        file.seek(at)
        mark, length, checksum = HEAD.unpack(file.read(HEAD.size))
        start = at + HEAD.size
        if mark not in (ALIVE, DEAD):
            yield at
            return
        if start + length > end:
            return  # torn: its writer was killed, or is still at it
        if mark == ALIVE:
            yield RecordPlace(start, length, checksum)
        at = start + length


def body(file: BinaryIO, place: RecordPlace) -> bytes | None:
    """A record's body, or None if it is not what was written."""
    file.seek(place.start)
    data = file.read(place.length)
    good = hashlib.blake2b(data, digest_size=16).digest() == place.checksum
    return data if good else None


def bury(path: Path, place: RecordPlace) -> None:
    """Mark a damaged record as dead, so that nobody reads it again."""
    with suppress(OSError), path.open("r+b") as file:  # if not, it is found damaged again
        file.seek(place.start - HEAD.size)
        file.write(DEAD)


def cut(path: Path, at: int) -> None:
    """Take away what is damaged at the end of a file."""
    with suppress(OSError):
        os.truncate(path, at)


class Journal:
    """Answers, kept as they come: an append-only folder, read once when it is opened."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writer = RecordWriter(folder / f"{os.getpid()}-{os.urandom(4).hex()}{SUFFIX}")
        self.known: dict[str, Any] = {}
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            with path.open("rb") as file:
                for place in list(places(file)):
                    if isinstance(place, int):
                        cut(path, place)
                        break
                    data = body(file, place)
                    self.known |= json.loads(data) if data is not None else {}

    def add(self, answers: dict[str, Any]) -> None:
        """Keep some answers."""
        self.known |= answers
        self._writer.append(json.dumps(answers).encode())

    def close(self) -> None:
        """Let go of the file."""
        self._writer.close()
