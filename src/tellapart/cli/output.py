"""What the command line prints: text or JSON on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from tellapart.types import Progress

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option(help="The one seed that all randomness comes from.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there already.")]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Carry on without what is bad, and list it.")
]

STOPPED = 130
"""The exit code of a command that was stopped with Ctrl-C."""


def emit(value: Any, text: str, as_json: bool) -> None:
    """Print a result in the form asked for."""
    print(json.dumps(value, ensure_ascii=False, indent=2) if as_json else text, flush=True)


def note(text: str) -> None:
    """Say something that is not the result: it goes to stderr."""
    print(text, file=sys.stderr)


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


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Bars on stderr with the time left, one for each phase as it comes."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Rate(ProgressColumn):
        """How many a second."""

        def render(self, task: Any) -> Text:
            speed = task.finished_speed or task.speed
            return Text(f"{speed:,.0f}/s" if speed else "")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        Rate(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        tasks: dict[str, Any] = {}

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield show


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr with the time left; told how many of how many are done."""
    with progress_bars() as show:
        yield lambda done, total: show(label, done, total)


def listed(text: str) -> list[str]:
    """The names in an option that takes several, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def list_skipped(skipped: tuple[str, ...]) -> None:
    """Name what `--skip-bad` left out."""
    for what in skipped[:20]:
        note(f"skipped: {what}")
    if len(skipped) > 20:
        note(f"skipped: ... and {len(skipped) - 20:,} more")
