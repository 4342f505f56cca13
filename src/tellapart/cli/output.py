"""What the command line prints: text or JSON on stdout, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Seed = Annotated[int, typer.Option(help="The one seed that all randomness comes from.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there already.")]
SkipBad = Annotated[
    bool, typer.Option("--skip-bad", help="Carry on without what is bad, and list it.")
]


def listed(text: str) -> list[str]:
    """The names in an option that takes several, separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def emit(value: Any, text: str, as_json: bool) -> None:
    """Print a result in the form asked for."""
    if as_json:
        print(json.dumps(value, ensure_ascii=False, indent=2))
    else:
        print(text)


def note(text: str) -> None:
    """Say something that is not the result: it goes to stderr."""
    print(text, file=sys.stderr)


def list_skipped(skipped: tuple[str, ...]) -> None:
    """Name what `--skip-bad` left out."""
    for what in skipped[:20]:
        note(f"skipped: {what}")
    if len(skipped) > 20:
        note(f"skipped: ... and {len(skipped) - 20:,} more")


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr with the time left; told how many of how many are done."""
    with progress_bars() as show:
        yield lambda done, total: show(label, done, total)


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None]]:
    """Several bars, one for each label, as they come."""
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

        def show(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bars.add_task(label, total=total)
            bars.update(tasks[label], completed=done, total=total)

        yield show
