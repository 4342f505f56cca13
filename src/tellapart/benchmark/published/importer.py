"""What an importer of a published benchmark is.

A plugin adds a source with one `Importer`, named under `tellapart.importers` among its package's
entry points; `Gathering` does what all of them need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tellapart.benchmark.published.download import Source
from tellapart.benchmark.published.options import GetOptions, Imported


@dataclass(frozen=True, slots=True)
class Importer:
    """How one source is read, and what is to be said of it.

    `read` turns the source's files into items. `endings` are those of the files that are taken
    from a folder; `page` is where a person finds them, `sources` are the ones that can be fetched.
    `verified` says who checked the items before they were published.
    """

    name: str
    about: str
    read: Callable[[Sequence[Path], GetOptions], Imported]
    endings: tuple[str, ...]
    page: str = ""
    licence: str = ""
    citation: str = ""
    verified: str = ""
    measures: tuple[str, ...] = ("accuracy",)
    sources: tuple[Source, ...] = ()
