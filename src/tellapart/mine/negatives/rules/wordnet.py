"""WordNet's nouns, where its database files are installed (Debian's `wordnet-base`, or any copy).

Only what the rules ask: the chains of more general senses above a noun's own. The files are those
of the Princeton database (wndb(5WN)): `index.noun` says where in `data.noun` a sense stands.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDERS = ("/usr/share/wordnet", "/usr/local/share/wordnet", "/usr/local/WordNet-3.0/dict")
SENSES = 2
"""Senses of a noun that are looked at, the most frequent ones."""
GENERAL = 6
"""Steps from the root (entity) within which a sense says too little of what a thing is."""

Chain = tuple[int, ...]
"""A sense and all above it, by their places in `data.noun`, the nearest first."""


@dataclass(frozen=True, slots=True)
class WordNet:
    """For each known noun the chains above its senses."""

    folder: Path
    above: dict[str, tuple[Chain, ...]]

    def related(self, one: str, other: str) -> bool:
        """Whether a sense of one noun is one of the other's or lies above it."""
        return any(
            first[0] in second or second[0] in first
            for first in self.above.get(one, ())
            for second in self.above.get(other, ())
        )

    def same_sort(self, one: str, other: str) -> bool:
        """Whether senses of two nouns have something above them that says what they are."""
        return any(
            not set(first[:-GENERAL]).isdisjoint(second[:-GENERAL])
            for first in self.above.get(one, ())
            for second in self.above.get(other, ())
        )


def folder() -> Path | None:
    """Where the files are: `WNSEARCHDIR` (WordNet's own variable), else a usual place, or None."""
    named = os.environ.get("WNSEARCHDIR", "")
    for place in (named, *FOLDERS) if named else FOLDERS:
        if (Path(place) / "data.noun").is_file() and (Path(place) / "index.noun").is_file():
            return Path(place)
    return None


def load(nouns: Iterable[str]) -> WordNet | None:
    """What WordNet knows of some nouns (lower case, words apart), or None where it is not there."""
    where = folder()
    if where is None:
        return None
    wanted = {noun.replace(" ", "_") for noun in nouns}
    senses = dict(_senses(where / "index.noun", wanted))
    with (where / "data.noun").open("rb") as data:
        parents: dict[int, int | None] = {}

        def chain(offset: int) -> Chain:
            found: list[int] = []
            here: int | None = offset
            while here is not None and here not in found:
                found.append(here)
                if here not in parents:
                    data.seek(here)
                    parents[here] = _parent(data.readline().decode("latin-1"))
                here = parents[here]
            return tuple(found)

        above = {
            noun.replace("_", " "): tuple(chain(offset) for offset in offsets)
            for noun, offsets in senses.items()
        }
    return WordNet(where, above)


def _senses(index: Path, wanted: set[str]) -> Iterable[tuple[str, list[int]]]:
    """Each noun's most frequent senses, which the index lists first."""
    with index.open(encoding="latin-1") as lines:
        for line in lines:
            word = line[: line.find(" ")]
            if word in wanted:
                parts = line.split()
                number = int(parts[2])
                yield word, [int(place) for place in parts[-number:][:SENSES]]


def _parent(line: str) -> int | None:
    """The sense above the one that a line of `data.noun` describes."""
    parts = line.split(" | ", maxsplit=1)[0].split()
    words = int(parts[3], 16)
    pointers = parts[5 + 2 * words :]
    for k in range(0, len(pointers) - 3, 4):
        if pointers[k] in ("@", "@i"):
            return int(pointers[k + 1])
    return None
