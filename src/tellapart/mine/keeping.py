"""Arrays that were computed before, so that a job which was stopped goes on where it was.

Under `TELLAPART_CACHE`: `mined/<hash>/NAME.npz`. The hash is one of all that the arrays depend on,
the version of this format among it; a file that is damaged counts as one that is not there.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.errors import BadInput
from tellapart.score.cache import default_folder
from tellapart.seeds import digest
from tellapart.tables import whole_file

FORMAT = 1
"""Raised whenever the meaning of what is kept changes."""
SIZE_GB = 4.0
"""Most that is kept; what was used longest ago goes first."""

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder of named arrays that depend on the same things."""

    folder: Path

    @classmethod
    def on(cls, *parts: Any) -> Kept:
        """The folder for what depends on `parts` (JSON-like values) alone."""
        return cls(default_folder() / "mined" / digest("mined", FORMAT, *parts)[:32])

    def read(self, name: str) -> Arrays | None:
        """What was kept under a name, if it is whole."""
        path = self.folder / f"{name}.npz"
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            os.utime(self.folder)
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None
        return arrays

    def write(self, name: str, **arrays: npt.NDArray[Any]) -> None:
        """Keep arrays under a name."""
        try:
            with whole_file(self.folder / f"{name}.npz") as partial, partial.open("wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            os.utime(self.folder)
        except OSError as error:
            raise BadInput(
                f"the cache cannot be written: {error.strerror}",
                where=str(self.folder),
                todo="name another folder in the variable TELLAPART_CACHE",
            ) from None
        make_room(self.folder.parent, int(SIZE_GB * 1e9), spare=self.folder)


def make_room(root: Path, limit: int, spare: Path) -> None:
    """Remove folders, least recently used first, until the rest is within `limit` bytes."""
    found = []
    for folder in root.iterdir():
        try:
            size = sum(path.stat().st_size for path in folder.iterdir())
            found.append((folder.stat().st_mtime_ns, size, folder))
        except OSError:
            continue  # another process was quicker
    total = sum(size for _, size, _ in found)
    for _, size, folder in sorted(found):
        if total <= limit:
            return
        if folder != spare:
            shutil.rmtree(folder, ignore_errors=True)
            total -= size
