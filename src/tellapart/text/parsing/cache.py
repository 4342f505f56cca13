"""Parses on disk: a folder of segments, each with the columns of some texts.

`FOLDER/parses/<fingerprint>/` holds one `.npz` file for each part of a job, written whole as soon
as the part is parsed: an interrupted job goes on where it was, and of a corpus that grew only the
new texts are parsed. A text is found by its 128-bit hash.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.tables import whole_file
from tellapart.text.parsing.parsed import CODED, PLACES, Columns

FORMAT = 1
"""Raised whenever the meaning of what is stored changes: older entries are then never read."""
BROKEN = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)


def key_of(text: str) -> bytes:
    """What a text is found by."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def to_bytes(columns: Columns, **more: Any) -> bytes:
    """Columns as the bytes of a compressed `.npz` file."""
    arrays: dict[str, Any] = {name: getattr(columns, name) for name in ("starts", *PLACES, *CODED)}
    for table in CODED.values():
        arrays[table] = np.frombuffer(json.dumps(getattr(columns, table)).encode(), np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, **arrays, **more)
    return file.getvalue()


def from_file(file: IO[bytes]) -> Columns:
    """Columns from an open `.npz` file."""
    with np.load(file) as data:
        parts: dict[str, Any] = {name: data[name] for name in ("starts", *PLACES, *CODED)}
        for table in CODED.values():
            parts[table] = tuple(json.loads(data[table].tobytes()))
        return Columns(**parts)


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of one pipeline."""

    folder: Path

    @classmethod
    def open(cls, root: Path, fingerprint: str) -> Segments:
        """The folder for a pipeline, made where it is not there yet."""
        folder = root / "parses" / f"{FORMAT}-{fingerprint[:32]}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadInput(
                f"the cache cannot be written: {error.strerror}",
                where=str(folder),
                todo="name another folder in the variable TELLAPART_CACHE",
            ) from None
        return cls(folder)

    def every(self) -> Iterator[tuple[Path, list[bytes]]]:
        """Each segment with the keys of its texts; one that is damaged is removed."""
        for path in sorted(self.folder.glob("*.npz")):
            try:
                with path.open("rb") as file, np.load(file) as data:
                    found = data["keys"].tobytes()
            except BROKEN:
                path.unlink(missing_ok=True)
                continue
            yield path, [found[k : k + 16] for k in range(0, len(found), 16)]

    def read(self, path: Path) -> Columns | None:
        """The columns of a segment; None where it is damaged (it is then removed)."""
        try:
            with path.open("rb") as file:
                return from_file(file)
        except BROKEN:
            path.unlink(missing_ok=True)
            return None

    def add(self, keys: Sequence[bytes], columns: Columns) -> Path:
        """Keep the columns of some texts, under a name that depends on the texts alone."""
        joined = b"".join(keys)
        path = self.folder / f"{hashlib.blake2b(joined, digest_size=16).hexdigest()}.npz"
        data = to_bytes(columns, keys=np.frombuffer(joined, np.uint8))
        try:
            with whole_file(path) as partial:
                partial.write_bytes(data)
        except OSError as error:
            raise BadInput(
                f"the cache cannot be written: {error.strerror}", where=str(path)
            ) from None
        return path
