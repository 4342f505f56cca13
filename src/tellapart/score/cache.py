"""The cache: embeddings and scores of pairs, shared by all runs of a user.

`TELLAPART_CACHE` (else `~/.cache/tellapart`) holds `scores/<fingerprint>/{images,texts,pairs}`. The
fingerprint is a hash of all that a row depends on beside its content: the model's name with its
options, weights, preprocessing, dtype, and the version of the cache's own format.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput
from tellapart.models.model import Facts
from tellapart.score.store import SUFFIX, Store
from tellapart.seeds import digest
from tellapart.tables import write_json

FORMAT = 1
"""Raised whenever the meaning of what is stored changes: older entries are then never read."""
SIZE_GB = 8.0
KINDS = {"images": "<f4", "texts": "<f4", "pairs": "<f8"}


def default_folder() -> Path:
    """Where the cache is unless someone says otherwise."""
    return Path(os.environ.get("TELLAPART_CACHE", "~/.cache/tellapart")).expanduser()


def fingerprint(facts: Facts) -> str:
    """The hash of everything that a row depends on beside its content."""
    parts = (facts.name, facts.weights, facts.preprocessing, facts.dtype)
    return digest("cache", FORMAT, *parts)


def is_cacheable(model: Any) -> bool:
    """Whether rows outlive the job: the weights are known, or the model says `cacheable`.

    A model that is fitted to each benchmark (it has `prepare`) must say so itself.
    """
    known = bool(model.facts.weights) and not hasattr(model, "prepare")
    return bool(getattr(model, "cacheable", known))


@dataclass(frozen=True, slots=True)
class Shelf:
    """A folder with a store for each kind of row of one model; `limit` in bytes, None for none."""

    folder: Path
    limit: int | None = None
    root: Path | None = None
    _stores: dict[str, Store] = field(default_factory=dict)

    def store(self, kind: str) -> Store:
        """The store of images, texts or pairs."""
        if kind not in self._stores:
            self._stores[kind] = Store(self.folder / kind, KINDS[kind])
        return self._stores[kind]

    def close(self) -> None:
        """Let go of all files, then make room."""
        for store in self._stores.values():
            store.close()
        self._stores.clear()
        self.make_room()

    def make_room(self) -> None:
        """Remove the segments that were used longest ago until the cache is within its limit."""
        if self.limit is not None and self.root is not None:
            remove_oldest(self.root, self.limit)


def open_shelf(root: Path, facts: Facts, size_gb: float = SIZE_GB) -> Shelf:
    """A model's part of the cache."""
    if size_gb <= 0:
        raise BadInput(f"a cache of {size_gb} GB holds nothing", allowed="more than 0")
    scores = root / "scores"
    folder = scores / fingerprint(facts)[:32]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "about.json").exists():
            about = {key: str(value) for key, value in asdict(facts).items()}
            write_json(folder / "about.json", {"format": FORMAT, **about})
    except OSError as error:
        raise BadInput(
            f"the cache cannot be written: {error.strerror}",
            where=str(folder),
            todo="name another folder with --cache, or do without with --no-cache",
        ) from None
    return Shelf(folder, int(size_gb * 1e9), scores)


def remove_oldest(root: Path, limit: int) -> None:
    """Remove segments, least recently used first, until the rest is within `limit` bytes."""
    found = []
    for path in root.glob(f"*/*/*{SUFFIX}"):
        try:
            seen = path.stat()
        except OSError:
            continue  # another process was quicker
        found.append((seen.st_mtime_ns, seen.st_size, path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        path.unlink(missing_ok=True)
        total -= size
