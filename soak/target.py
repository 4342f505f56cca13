"""A reader to be fuzzed: its whole files, and how one of them is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from soak.containers import CONTAINERS
from soak.mutations import (
    Mutation,
    Rng,
    mutate_bytes,
    mutate_json,
    mutate_jsonl,
    mutate_lines,
    mutate_packed,
    mutate_parquet,
    pick,
    splice,
)

from tellapart.files import suffix

BY_ENDING: dict[str, Mutation] = {
    "json": mutate_json, "jsonl": mutate_jsonl, "parquet": mutate_parquet, **CONTAINERS,
}  # fmt: skip
"""The mutations that know a form; those of lines are for all other endings."""

Read = Callable[[Path, bool], object]
"""Reads the file at a path, without the bad rows if so asked, as a user's command does."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader: its whole files by name, and how one of them is read.

    All files lie in one folder, and one at a time is replaced by a mutated one. An input is a
    byte that picks the file and whether bad rows are skipped, and then the file's bytes.
    """

    name: str
    files: Mapping[str, bytes]
    read: Read
    surroundings: Mapping[str, bytes] = field(default_factory=dict)

    def seeds(self) -> list[bytes]:
        """The whole files as inputs, once with bad rows skipped and once without."""
        inputs = range(2 * len(self.files))
        return [bytes([k]) + self.files[self.picked(bytes([k]))[0]] for k in inputs]

    def picked(self, data: bytes) -> tuple[str, bool]:
        """The name of the file that an input replaces, and whether bad rows are skipped."""
        number = data[0] if data else 0
        return list(self.files)[number // 2 % len(self.files)], bool(number % 2)

    def mutate(self, data: bytes, rng: Rng) -> bytes:
        """Another input for the same file."""
        head, body = data[:1] or b"\0", data[1:]
        name = self.picked(head)[0]
        if rng.random() < 0.3:
            head = bytes([head[0] ^ 1])
        if rng.random() < 0.05:
            return head + splice(body, pick(rng, list(self.files.values())), rng)
        inner = BY_ENDING.get(suffix(Path(name)), mutate_lines)
        change = inner if rng.random() < 0.7 else mutate_bytes
        if name.endswith(".gz"):
            return head + mutate_packed(body, change, rng)
        return head + change(body, rng)
