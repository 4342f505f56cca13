"""Stars and notes on items, kept in a file beside the runs or benchmarks.

The file is JSON: by benchmark, then by item, `{"star": true, "note": "..."}`. Items are identified
by their ids, so marks survive a new version of the benchmark. The whole file is written after each
change.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput
from tellapart.files import read_json, write_json

NAME = "view-marks.json"
SCHEMA = "tellapart-marks-1"
LONGEST = 4_000
"""Maximum length of a note in characters."""


@dataclass(slots=True)
class ItemMarks:
    """The marks of all benchmarks of a view; `changes` counts the changes."""

    path: Path
    by_benchmark: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    changes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def read(cls, path: Path) -> ItemMarks:
        """Read the marks in a file; there are none if the file does not exist yet."""
        if not path.exists():
            return cls(path)
        data = read_json(path)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise BadInput(
                f"{path.name} is not a file of marks",
                where=str(path),
                allowed=f"schema {SCHEMA}",
                todo="name another file with --marks",
            )
        return cls(path, dict(data.get("marks", {})))

    def of(self, benchmark: str) -> dict[str, dict[str, Any]]:
        """The marks of a benchmark by item."""
        return self.by_benchmark.get(benchmark, {})

    def starred(self, benchmark: str) -> frozenset[str]:
        """The items with a star."""
        return frozenset(item for item, mark in self.of(benchmark).items() if mark.get("star"))

    def noted(self, benchmark: str) -> frozenset[str]:
        """The items with a note."""
        return frozenset(item for item, mark in self.of(benchmark).items() if mark.get("note"))

    def set(self, benchmark: str, item: str, star: bool, note: str) -> dict[str, Any]:
        """Mark an item, and save the marks."""
        mark: dict[str, Any] = {}
        if star:
            mark["star"] = True
        if note.strip():
            mark["note"] = note.strip()[:LONGEST]
        with self._lock:
            own = dict(self.of(benchmark))
            own.pop(item, None)
            if mark:
                own[item] = mark
            every = {**self.by_benchmark, benchmark: dict(sorted(own.items()))}
            try:
                write_json(self.path, {"schema": SCHEMA, "marks": every})
            except OSError as error:
                raise BadInput(
                    f"marks cannot be saved: {error.strerror}",
                    where=str(self.path),
                    todo="name a writable file with --marks",
                ) from None
            self.by_benchmark = every
            self.changes += 1
        return mark
