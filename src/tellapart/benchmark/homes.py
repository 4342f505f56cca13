"""Where benchmarks are: in a given folder, or in the user's home for benchmarks."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tellapart.addresses import address_of
from tellapart.errors import BadInput, UnknownName
from tellapart.remote import fetch


def home() -> Path:
    """The folder of benchmarks that can be called by name."""
    return Path(os.environ.get("TELLAPART_HOME", "~/.tellapart")).expanduser()


def found_folder(where: Path) -> Path:
    """The folder of a benchmark given by its path or name."""
    if address_of(where) is not None and not (where / "benchmark.json").exists():
        fetch(where)  # a run names it
    for folder in (where, home() / where):
        if (folder / "benchmark.json").exists():
            return folder
    if where.exists():
        raise BadInput(
            f"{where} is not a benchmark",
            allowed="a folder with a benchmark.json, or the name of one under TELLAPART_HOME",
            todo="build one with: tellapart build bison|mcic|foil|negatives|bivlc CORPUS OUT",
        )
    names = _names(where)
    error = UnknownName("benchmark", str(where), names, todo="give a folder or a known name")
    places = list(dict.fromkeys((str(where), str(home() / where))))
    one = f"the folder {places[0]} does not exist"
    error.what += f": {one}, nor does {places[1]}" if places[1:] else f": {one}"
    if not names:
        error.allowed = f"a folder with a benchmark.json ({home()} has no benchmarks yet)"
    raise error


def _names(where: Path) -> Sequence[str]:
    """Candidates for suggestions: benchmarks in the home folder and beside the given path."""
    found = {p.parent.name for p in home().glob("*/benchmark.json")}
    beside = where.parent
    found |= {str(beside / p.parent.name) for p in beside.glob("*/benchmark.json")}
    return sorted(found)
