"""Parses in the cache: their columns as arrays, a file for each part of a job.

A file is written whole as soon as its part is parsed: an interrupted job goes on where it was, and
of a corpus that grew only the new texts are parsed.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import IO, Any

import numpy as np

from tellapart.store.arrays import Arrays, ArraySegments
from tellapart.text.parsing.parsed import CODED, PLACES, Columns

FORMAT = 1
"""Raised whenever the meaning of what is stored changes: older entries are then never read."""


def open_segments(root: Path, fingerprint: str) -> ArraySegments:
    """The parses of one pipeline in a cache."""
    return ArraySegments.open(root, "parses", f"{FORMAT}-{fingerprint[:32]}")


def key_of(text: str) -> bytes:
    """What a text is found by."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def to_arrays(columns: Columns) -> dict[str, Any]:
    """Columns as arrays; tables of words become JSON in bytes."""
    arrays: dict[str, Any] = {name: getattr(columns, name) for name in ("starts", *PLACES, *CODED)}
    for table in CODED.values():
        arrays[table] = np.frombuffer(json.dumps(getattr(columns, table)).encode(), np.uint8)
    return arrays


def from_arrays(arrays: Arrays) -> Columns:
    """Columns from arrays that `to_arrays` made."""
    parts: dict[str, Any] = {name: arrays[name] for name in ("starts", *PLACES, *CODED)}
    for table in CODED.values():
        parts[table] = tuple(json.loads(arrays[table].tobytes()))
    return Columns(**parts)


def to_bytes(columns: Columns) -> bytes:
    """Columns as the bytes of a compressed `.npz` file."""
    file = io.BytesIO()
    np.savez_compressed(file, **to_arrays(columns))
    return file.getvalue()


def from_file(file: IO[bytes]) -> Columns:
    """Columns from an open `.npz` file."""
    with np.load(file) as data:
        return from_arrays(data)
