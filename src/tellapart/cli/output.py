"""Output of the command line: text or JSON on stdout, notes and progress on stderr."""

from __future__ import annotations

import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer

from tellapart.addresses import shown
from tellapart.types import Progress

STOPPED = 130
"""Exit code of a command stopped with Ctrl-C."""
EVERY = 15.0
"""Seconds between two lines of progress if stderr is not a terminal."""


def emit(value: Any, as_json: bool) -> None:
    """Print a text, or plain values as JSON."""
    text = json.dumps(value, ensure_ascii=False, indent=2) if as_json else str(value)
    print(shown(text), flush=True)


def note(text: str) -> None:
    """Print a note that is not part of the result to stderr."""
    print(shown(text), file=sys.stderr)


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(f"note: {record.getMessage()}")


@contextmanager
def log_as_notes() -> Iterator[None]:
    """Print the package's log messages as notes."""
    logger, handler = logging.getLogger("tellapart"), _Notes(logging.INFO)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """At the end, print warnings as notes, without their place in the code."""
    with warnings.catch_warnings(record=True) as caught:
        try:
            yield
        finally:
            for warning in caught:
                note(f"note: {warning.message}")


@contextmanager
def stoppable() -> Iterator[None]:
    """On Ctrl-C, say how to resume and exit."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        try:
            yield
        except KeyboardInterrupt:
            note("stopped; run the same command again to continue from here")
            raise typer.Exit(STOPPED) from None


def progress_lines(
    say: Callable[[str], None], clock: Callable[[], float] = time.monotonic, every: float = EVERY
) -> Progress:
    """Progress for a log: a line every so often, none for quick phases."""
    told = clock()
    begun: dict[str, tuple[float, int]] = {}

    def show(phase: str, done: int, total: int) -> None:
        nonlocal told
        now = clock()
        start, first = begun.setdefault(phase, (now, done))
        if now - told < every:
            return
        told = now
        line = f"{phase}: {done:,} of {total:,}" if total else f"{phase}: {done:,}"
        if first < done < total:
            left = (now - start) / (done - first) * (total - done)
            line += f", about {_duration(left)} left"
        say(line)

    return show


def _duration(seconds: float) -> str:
    """A duration in readable units.

    >>> _duration(40), _duration(150), _duration(9000)
    ('40 s', '2 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Progress bars on stderr with the time left, one per phase; lines if it is not a terminal."""
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
        """The rate per second."""

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
    if not console.is_terminal:
        yield progress_lines(note)
        return
    with Progress(*columns, console=console) as bars:
        tasks: dict[str, Any] = {}

        def show(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total or None)
            bars.update(tasks[phase], completed=done, total=total or None)

        yield show
