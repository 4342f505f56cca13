"""Options of the verbs that compute for long: the cache, and being stopped."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Optional

import typer

from tellapart.cli.output import note

Cache = Annotated[
    Optional[Path],  # noqa: UP045 (typer reads annotations at run time)
    typer.Option(help="Folder of the cache (default: TELLAPART_CACHE, else ~/.cache/tellapart)."),
]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Neither read nor keep embeddings and scores of pairs.")
]
CacheSize = Annotated[
    float, typer.Option(help="Most gigabytes of cache; what was used longest ago goes first.")
]

STOPPED = 130
"""The exit code of a command that was stopped with Ctrl-C."""


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C ends in a sentence that says how to go on; warnings are printed as notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        try:
            yield
        except KeyboardInterrupt:
            note("stopped; give the same command again, and it goes on from here")
            raise typer.Exit(STOPPED) from None
        finally:
            for warning in caught:
                note(f"note: {warning.message}")
