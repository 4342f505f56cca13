"""Errors that say what is wrong, where, what is allowed and what to do next.

Every user mistake raises a `TellapartError`; the command line prints it and exits with code 2,
never with a traceback.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tellapart.addresses import shown

LONGEST = 2_000
"""Longest part of an error in characters, so that a book-length value is not printed in full."""

MANY = 100_000
"""An input with more bad rows than this is probably the wrong file or the wrong format."""


class TellapartError(Exception):
    """A mistake in the input, described in up to four parts; only `what` is required.

    >>> print(TellapartError("caption 3 is empty", where="a.csv, row 3", todo="write one"))
    caption 3 is empty
      where:   a.csv, row 3
      to do:   write one
    """

    def __init__(self, what: str, *, where: str = "", allowed: str = "", todo: str = "") -> None:
        self.what, self.where, self.allowed, self.todo = presentable(what), where, allowed, todo
        super().__init__(self.what)

    def parts(self) -> dict[str, str]:
        """The parts that are not empty, by name, for `--json`."""
        named = {name: getattr(self, name) for name in ("what", "where", "allowed", "todo")}
        return {name: presentable(text) for name, text in named.items() if text}

    def __str__(self) -> str:
        parts = self.parts()
        labels = {"where": "where:  ", "allowed": "allowed:", "todo": "to do:  "}
        lines = [f"  {label} {parts[name]}" for name, label in labels.items() if name in parts]
        return "\n".join([parts.get("what", ""), *lines])


def presentable(text: str) -> str:
    """The text in a form that UTF-8 can encode, cut to `LONGEST`, whatever broken file it quotes.

    >>> print(presentable("half a pair: " + chr(0xD800)).replace(chr(92), "/"))
    half a pair: /ud800
    """
    written = shown(text).encode("utf-8", errors="backslashreplace").decode()
    return written if len(written) <= LONGEST else written[: LONGEST - 4] + " ..."


class BadInput(TellapartError):
    """Input that does not have the required form."""


class BadImage(BadInput):
    """A picture that is missing or cannot be read."""


class DiskFull(TellapartError):
    """No space is left on the disk."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(
            "the disk is full",
            where=str(path),
            todo="free some space and run the same command again; finished work is kept",
        )


class PartDone(TellapartError):
    """Not a failure: this process has finished its share of the shards."""

    def __init__(self, about: str, done: int, total: int) -> None:
        super().__init__(
            f"{about}: this share is done; {done:,} of {total:,} shards are finished",
            todo=("when all shares are done, " if done < total else "")
            + "run the same command with --gather instead of --shard",
        )
        self.about, self.done, self.total = about, done, total

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"shards_done": self.done, "shards": self.total, **self.parts()}

    @classmethod
    def of(cls, parts: Sequence[PartDone]) -> PartDone:
        """Several jobs combined into one."""
        about = "; ".join(part.about for part in parts)
        return cls(about, sum(p.done for p in parts), sum(p.total for p in parts))


NO_ROOM = ("no space left on device", "disk quota exceeded", "database or disk is full")
"""Messages of libraries that report a full disk with error types of their own."""
CUT_SHORT = re.compile(r"\d+ requested and \d+ written")
"""What NumPy says when an array does not fit on the disk, without the system's number."""


def disk_is_full(error: BaseException) -> bool:
    """Whether an error of the system or of a library means that the disk is full."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    said = str(error)
    return any(words in said.lower() for words in NO_ROOM) or bool(CUT_SHORT.fullmatch(said))


class UnknownName(TellapartError):
    """A name that is not registered; suggests similar names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], todo: str = "") -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        super().__init__(
            f"there is no {kind} called {name!r}",
            allowed=", ".join(names) or "none are installed",
            todo=(meant + todo).strip(),
        )


class Problems:
    """Collects problems with the rows of an input, then stops or carries on.

    With `skip=False` (the default) `settle` raises one error that shows the first problem and
    counts the others; with `skip=True` (`--skip-bad`) the problems are kept to be listed. Beyond
    `MANY` problems, reading stops, or, if they are skipped, further ones are only counted.
    """

    def __init__(self, *, skip: bool = False) -> None:
        self.skip = skip
        self.found: list[BadInput] = []
        self.more = 0

    def add(self, problem: BadInput) -> None:
        """Note one bad row; the caller leaves the row out."""
        if len(self.found) <= MANY:
            self.found.append(problem)
        else:
            self.more += 1
        if len(self.found) > MANY:
            self.settle()

    def settle(self) -> None:
        """Raise the problems found, unless the user asked to skip bad rows."""
        if self.skip or not self.found:
            return
        first, others = self.found[0], len(self.found) - 1
        if others:
            more = "; ".join(p.what for p in self.found[1:4])
            dots = "; ..." if others > 3 else ""
            least = "at least " if len(self.found) > MANY else ""
            first.what = presentable(f"{first.what} (and {least}{others} more: {more}{dots})")
        first.todo = (first.todo + "; or " if first.todo else "") + (
            "skip the bad rows with --skip-bad (skip_bad=True)"
        )
        raise first

    def __iter__(self) -> Iterator[BadInput]:
        yield from self.found
        if self.more:
            yield BadInput(f"... and {self.more:,} more")

    def __len__(self) -> int:
        return len(self.found) + self.more


def need(module: str, extra: str, what: str = "this model") -> Any:
    """Import an optional module; the error says what needs it and which extra provides it.

    >>> need("json", "text").dumps([1])
    '[1]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        missing = error.name or module
        raise TellapartError(
            f"{what} needs the package {missing!r}, which is not installed",
            todo=f"pip install 'tellapart[{extra}]'",
        ) from error
