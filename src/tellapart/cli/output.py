"""What the command line prints: text or JSON on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from tellapart.types import Progress

STOPPED = 130
"""The exit code of a command that was stopped with Ctrl-C."""


def emit(value: Any, as_json: bool) -> None:
    """Print a text, or plain values as JSON."""
    print(json.dumps(value, ensure_ascii=False, indent=2) if as_json else value, flush=True)


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
