"""Errors that tell a person what was wrong, where, what is allowed and what to do next.

Everything that a user can get wrong ends in a `TellapartError`; the command line prints it
and stops with exit code 2, never with a traceback.
"""

from __future__ import annotations

import difflib
import errno
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tellapart.addresses import shown

LONGEST = 2_000
"""Characters of one part of an error: a value that is a whole book is not shown in full."""

MANY = 100_000
"""An input with more bad rows than this is not what it was taken for."""


class TellapartError(Exception):
    """A mistake in the input, said in four parts; only `what` is always there.

    >>> print(TellapartError("caption 3 is empty", where="a.csv, row 3", todo="write one"))
    caption 3 is empty
      where:   a.csv, row 3
      to do:   write one
    """

    def __init__(self, what: str, *, where: str = "", allowed: str = "", todo: str = "") -> None:
        self.what, self.where, self.allowed, self.todo = presentable(what), where, allowed, todo
        super().__init__(self.what)

    def parts(self) -> dict[str, str]:
        """The parts that are there, by name, for `--json`."""
        named = {name: getattr(self, name) for name in ("what", "where", "allowed", "todo")}
        return {name: presentable(text) for name, text in named.items() if text}

    def __str__(self) -> str:
        parts = self.parts()
        labels = {"where": "where:  ", "allowed": "allowed:", "todo": "to do:  "}
        lines = [f"  {label} {parts[name]}" for name, label in labels.items() if name in parts]
        return "\n".join([parts.get("what", ""), *lines])


def presentable(text: str) -> str:
    """A text that can be written as UTF-8 and looked at, whatever it quotes from a broken file.

    >>> print(presentable("half a pair: " + chr(0xD800)).replace(chr(92), "/"))
    half a pair: /ud800
    """
    written = shown(text).encode("utf-8", errors="backslashreplace").decode()
    return written if len(written) <= LONGEST else written[: LONGEST - 4] + " ..."


class BadInput(TellapartError):
    """Something in a file that the user gave is not as it must be."""


class BadImage(BadInput):
    """A picture that is missing or cannot be read."""


class DiskFull(TellapartError):
    """There is no room left for what must be written."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(
            "the disk is full",
            where=str(path),
            todo="make room and give the same command again: what was kept is used",
        )


class PartDone(TellapartError):
    """Not a failure: this process has done its share of the shards."""

    def __init__(self, about: str, done: int, total: int) -> None:
        super().__init__(
            f"{about}: this share is done; {done:,} of {total:,} shards are there",
            todo=("when all shares are done, " if done < total else "")
            + "give the same command with --gather instead of --shard",
        )
        self.about, self.done, self.total = about, done, total

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"shards_done": self.done, "shards": self.total, **self.parts()}

    @classmethod
    def of(cls, parts: Sequence[PartDone]) -> PartDone:
        """Several jobs as one."""
        about = "; ".join(part.about for part in parts)
        return cls(about, sum(p.done for p in parts), sum(p.total for p in parts))


NO_ROOM = ("no space left on device", "disk quota exceeded", "database or disk is full")
"""How libraries say it that have errors of their own."""


def disk_is_full(error: BaseException) -> bool:
    """Whether an error of the system, or of a library that writes files, is about a full disk."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return any(words in str(error).lower() for words in NO_ROOM)


class UnknownName(TellapartError):
    """A name that nothing is registered under; says which names are near."""

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
    """Collects what is wrong with the rows of an input, then stops or carries on.

    With `skip=False` (the default) `settle` raises one error that shows the first problem and
    counts the others; with `skip=True` (`--skip-bad`) the problems stay here to be listed. Past
    `MANY` problems nothing more is read, or, where they are skipped, they are only counted.
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
        """Raise what was found, unless the user asked to carry on without it."""
        if self.skip or not self.found:
            return
        first, others = self.found[0], len(self.found) - 1
        if others:
            more = "; ".join(p.what for p in self.found[1:4])
            dots = "; ..." if others > 3 else ""
            least = "at least " if len(self.found) > MANY else ""
            first.what = presentable(f"{first.what} (and {least}{others} more: {more}{dots})")
        first.todo = (first.todo + "; or " if first.todo else "") + (
            "carry on without the bad rows with --skip-bad (skip_bad=True)"
        )
        raise first

    def __iter__(self) -> Iterator[BadInput]:
        yield from self.found
        if self.more:
            yield BadInput(f"... and {self.more:,} more")

    def __len__(self) -> int:
        return len(self.found) + self.more


def need(module: str, extra: str, what: str = "this model") -> Any:
    """A module of an optional package; an error says what needs it and which extra brings it.

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
