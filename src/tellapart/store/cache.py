"""The cache folder: where it is, what it holds, and what goes when it grows too large.

`TELLAPART_CACHE` (else `~/.cache/tellapart`) holds

- `scores/<fingerprint>/{images,texts,pairs}/*.segment`: rows of models (`rows.py`),
- `mined/<hash>/*.npz`: arrays that builders computed (`arrays.py`),
- `parses/<pipeline>/*.npz`: parses of captions (`arrays.py`),
- `downloads/<hash>/NAME`: published files,
- `thumbnails/<xx>/<hash>.webp`: small pictures of views (`web/thumbnails.py`),
- `replies/<fingerprint>/*.segment`: what language models wrote,
- `addresses/<scheme>/...`: what was read from object stores or goes there (`remote.py`).

All parts but the last two share one size limit. What was used longest ago goes first, whatever part
it belongs to; the time of last use is the modification time. Replies stay: asking again may cost
money, and they are small.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from tellapart.errors import BadInput
from tellapart.options import default_cache

SIZE_GB = 8.0
"""The size limit where the user sets none."""
ENTRIES = {"scores": "*/*/*.segment", "mined": "*", "parses": "*/*.npz", "downloads": "*",
           "thumbnails": "*/*.webp"}  # fmt: skip
"""What is removed as a whole, by part: a file, or a folder whose files are used together."""


def default_folder() -> Path:
    """The cache folder unless the user names another one."""
    return default_cache()


def mark_used(entry: Path) -> None:
    """Note that an entry was used just now; it is then the last one to go."""
    with suppress(OSError):  # read-only, or another process removed it
        os.utime(entry)


def make_room(root: Path, limit: int, spare: Collection[Path] = ()) -> None:
    """Remove entries, least recently used first, until the cache is within `limit` bytes.

    Entries in `spare`, or inside a folder of it, are counted but stay.
    """
    entries = sorted(_entries(root))
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total <= limit:
            return
        if not any(path == kept or kept in path.parents for kept in spare):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            total -= size


def _entries(root: Path) -> Iterator[tuple[int, int, Path]]:
    """When each entry was last used, its size in bytes, and its path."""
    for part, pattern in ENTRIES.items():
        for path in (root / part).glob(pattern):
            with suppress(OSError):  # another process removed it
                used = path.stat()
                size = used.st_size
                if path.is_dir():
                    size = sum(file.stat().st_size for file in path.iterdir())
                yield used.st_mtime_ns, size, path


def unwritable(
    path: Path, error: OSError, todo: str = "name another folder in the variable TELLAPART_CACHE"
) -> BadInput:
    """The error for a cache folder that cannot be written."""
    return BadInput(f"the cache cannot be written: {error.strerror}", where=str(path), todo=todo)
