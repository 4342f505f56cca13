"""Arrays in the cache: `.npz` files that are written whole and count as absent when damaged.

`ArrayShelf` keeps named arrays that depend on the same things (`mined/<hash>/NAME.npz`), so that a
job which was stopped goes on where it was. `ArraySegments` keeps columns of texts, some texts a
file, each found by its 128-bit hash: of a corpus that grew only the new texts are computed.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.files import whole_file
from tellapart.seeds import digest
from tellapart.store.cache import SIZE_GB, default_folder, make_room, mark_used, unwritable

FORMAT = 1
"""Raised whenever the meaning of what is kept changes: older entries are then never read."""
DAMAGE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error)
"""What reading a damaged file, or one that is not there, may raise."""

Arrays = Mapping[str, npt.NDArray[Any]]


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]] | None:
    """The arrays in a file; None where it is absent or damaged."""
    try:
        # Opened here, because NumPy leaves a file open that it finds damaged.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
            return {key: data[key] for key in data.files}
    except DAMAGE:
        return None


def write_arrays(path: Path, arrays: Arrays, *, compress: bool = False) -> None:
    """Write arrays into a file, whole or not at all."""
    save: Any = np.savez_compressed if compress else np.savez
    try:
        with whole_file(path) as partial, partial.open("wb") as file:
            save(file, allow_pickle=False, **arrays)
    except OSError as error:
        raise unwritable(path.parent, error) from None


def arrays_bytes(arrays: Arrays) -> bytes:
    """Arrays as the content of a file: the same for the same arrays."""
    file = io.BytesIO()
    save: Any = np.savez
    save(file, allow_pickle=False, **arrays)
    return file.getvalue()


@dataclass(frozen=True, slots=True)
class ArrayShelf:
    """A folder of named arrays that depend on the same things."""

    folder: Path

    @classmethod
    def on(cls, *parts: Any) -> ArrayShelf:
        """The folder for what depends on `parts` (JSON-like values) alone."""
        return cls(default_folder() / "mined" / digest("mined", FORMAT, *parts)[:32])

    def read(self, name: str) -> Arrays | None:
        """The arrays of a name; None where there are none that are whole."""
        arrays = read_arrays(self.folder / f"{name}.npz")
        if arrays is not None:
            mark_used(self.folder)
        return arrays

    def write(self, name: str, **arrays: npt.NDArray[Any]) -> None:
        """Keep arrays under a name, and make room for them."""
        write_arrays(self.folder / f"{name}.npz", arrays)
        mark_used(self.folder)
        make_room(self.folder.parent.parent, int(SIZE_GB * 1e9), spare=(self.folder,))


@dataclass(frozen=True, slots=True)
class ArraySegments:
    """A folder of files, each with the columns of some texts and the keys of those texts."""

    folder: Path

    @classmethod
    def open(cls, root: Path, part: str, name: str) -> ArraySegments:
        """The folder `part/name` of a cache, made where it does not exist yet."""
        folder = root / part / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from None
        return cls(folder)

    def every(self) -> Iterator[tuple[Path, list[bytes]]]:
        """Each segment with the keys of its texts; a damaged one is removed."""
        for path in sorted(self.folder.glob("*.npz")):
            try:
                with path.open("rb") as file, np.load(file, allow_pickle=False) as data:
                    joined = data["keys"].tobytes()
            except DAMAGE:
                path.unlink(missing_ok=True)
                continue
            yield path, [joined[k : k + 16] for k in range(0, len(joined), 16)]

    def read(self, path: Path) -> Arrays | None:
        """The columns of a segment; None where it is damaged (it is then removed)."""
        arrays = read_arrays(path)
        if arrays is None:
            path.unlink(missing_ok=True)
        else:
            mark_used(path)
        return arrays

    def add(self, keys: Sequence[bytes], columns: Arrays) -> Path:
        """Keep the columns of some texts, under a name that depends on the texts alone."""
        joined = b"".join(keys)
        path = self.folder / f"{hashlib.blake2b(joined, digest_size=16).hexdigest()}.npz"
        write_arrays(path, {**columns, "keys": np.frombuffer(joined, np.uint8)}, compress=True)
        return path

    def make_room(self) -> None:
        """Bring the cache within its limit; the segments of this folder stay."""
        make_room(self.folder.parent.parent, int(SIZE_GB * 1e9), spare=(self.folder,))
