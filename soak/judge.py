"""Whether a reader handled an input well: it read it, or refused it with a clear error.

Everything else is a failure: any other exception, output on stderr, too much time, too much memory,
an error that says nothing or too much.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soak.target import Target

from tellapart.errors import TellapartError

SECONDS = 2.0
"""Processor time for an input; past five times as much it is broken off."""

PATIENCE = 60
"""How many times as long it may take by the clock, on a machine with other work."""

MEGABYTES = 500
"""How much memory an input may add to what the process had before."""

LONGEST = 10_000
"""Characters of an error that a person would still look at."""

KEPT = 5
"""How many inputs are kept of each sort of failure."""


class Hang(BaseException):
    """An input took far too long; not an `Exception`, so that no reader takes it for its own."""


@dataclass(slots=True)
class Judge:
    """Gives a target its inputs and counts what came of them; failing inputs are kept."""

    target: Target
    folder: Path
    kept: Path
    counts: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    largest: float = 0.0

    def __post_init__(self) -> None:
        """Lay the whole files into the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name, data in {**self.target.surroundings, **self.target.files}.items():
            (self.folder / name).write_bytes(data)

    def judge(self, data: bytes) -> str:
        """Give the target one input; what was wrong, empty if nothing was."""
        name, skip_bad = self.target.picked(data)
        path = self.folder / name
        path.write_bytes(data[1:])
        memory, written = _memory_before(), _stderr_size()
        _limit(5 * SECONDS, PATIENCE * SECONDS)
        begin, busy = time.perf_counter(), time.process_time()
        outcome, wrong = self._outcome(path, skip_bad)
        took, busy = time.perf_counter() - begin, time.process_time() - busy
        added = _peak() - memory
        _limit(0, 0)
        # On a machine that others use as well, only time that was worked counts as slow.
        if not wrong and min(took, busy) > SECONDS:
            wrong = f"slow: {took:.1f} s"
        if not wrong and added > MEGABYTES:
            wrong = "memory blow-up"
        if not wrong and _stderr_size() > written:
            wrong = "something on stderr"
        self.slowest, self.largest = max(self.slowest, took), max(self.largest, added)
        self.counts["failed" if wrong else outcome] += 1
        if wrong:
            self._keep(data, wrong)
        path.write_bytes(self.target.files[name])
        return wrong

    def _outcome(self, path: Path, skip_bad: bool) -> tuple[str, str]:
        try:
            self.target.read(path, skip_bad)
        except TellapartError as error:
            return "refused", _wrong_with(error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of Polars is not an Exception
            return "failed", _told(error)
        return "read", ""

    def _keep(self, data: bytes, wrong: str) -> None:
        sort = wrong.rpartition("\n")[2]
        self.failures[sort] += 1
        if self.failures[sort] <= KEPT:
            self.kept.mkdir(parents=True, exist_ok=True)
            name = f"{self.target.name}-{len(self.failures)}-{self.failures[sort]}"
            (self.kept / name).write_bytes(data)
            (self.kept / f"{name}.txt").write_text(wrong, encoding="utf-8", errors="replace")

    def result(self) -> dict[str, Any]:
        """The figures."""
        return {
            "inputs": self.counts.total(),
            **{name: self.counts[name] for name in ("read", "refused", "failed")},
            "slowest_ms": round(1000 * self.slowest, 1),
            "peak_mb": round(self.largest, 1),
            **({"sorts": dict(self.failures)} if self.failures else {}),
        }


def _wrong_with(error: TellapartError) -> str:
    """What is wrong with an error as a message for people."""
    text = str(error)
    try:
        text.encode()
    except UnicodeEncodeError:
        return f"an error that cannot be written: {ascii(text)[:200]}"
    if not error.what.strip():
        return "an error that says nothing"
    return f"an error of {len(text):,} characters" if len(text) > LONGEST else ""


def _told(error: BaseException) -> str:
    """A traceback, and as its last line the sort of failure: what was raised, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "tellapart" in frame.filename] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].name}" if own else "?"
    text = "".join(traceback.format_exception(error))[-20_000:]
    return f"{text}\n{type(error).__name__} in {place}"


def _memory_before() -> float:
    """The memory that this process has, in megabytes; from now on its peak is measured anew."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> float:
    """The most memory that this process has had, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _stderr_size() -> int:
    """How much was written to stderr, where that is a file."""
    return os.fstat(2).st_size


def _limit(busy: float, took: float) -> None:
    """Break off after so many seconds of processor time or by the clock; 0 for never."""
    signal.signal(signal.SIGPROF, _hang)
    signal.signal(signal.SIGALRM, _hang)
    signal.setitimer(signal.ITIMER_PROF, busy)
    signal.setitimer(signal.ITIMER_REAL, took)


def _hang(*_: object) -> None:
    raise Hang
