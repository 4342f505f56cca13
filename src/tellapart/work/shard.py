"""A shard: a part of a job that is planned from content, done whole, and may be done twice.

Shards are cut before anything runs, and their size does not depend on how many workers there are:
so a job gives the same bytes whoever did which part, and how often. What a worker makes of a shard
is the content of one file, whose name says what went in.
"""

from __future__ import annotations

import os
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from tellapart.addresses import home
from tellapart.errors import BadInput, TellapartError

TRIES = 3
"""How often a shard is begun, each time by another worker where there is one."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A part of a job: the file that it becomes, how many units it has, and what a worker needs."""

    name: str
    size: int
    given: Any = None


@dataclass(frozen=True, slots=True)
class ShardResult:
    """The content of a shard's file, and notes for whoever puts the shards together."""

    data: bytes | bytearray
    notes: Mapping[str, Any] = field(default_factory=dict)


class ShardTask(Protocol):
    """What is done with shards. It is sent to each worker once, and opened there once."""

    def open(self) -> Callable[[Any], ShardResult]:
        """Load what is needed, and give out what makes a result of a shard's `given`."""
        ...


class ShardFailed(TellapartError):
    """Shards that several workers could not do."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a worker could not do a shard; `final` where nobody else could either."""

    parts: Mapping[str, str]
    final: bool = False

    @property
    def what(self) -> str:
        """The reason in one line."""
        return self.parts["what"]

    @classmethod
    def of(cls, error: BaseException) -> Trouble:
        """What an error says; mistakes in the input are the same for every worker."""
        if isinstance(error, TellapartError):
            return cls(error.parts(), isinstance(error, BadInput))
        last = traceback.extract_tb(error.__traceback__)[-1:]
        where = "".join(f"{one.filename}, line {one.lineno}" for one in last)
        return cls({"what": f"{type(error).__name__}: {error}", "where": where})


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a worker takes over from the process that started it: folder and settings."""

    folder: str
    settings: Mapping[str, str]

    @classmethod
    def here(cls) -> WorkerSettings:
        """Those of this process."""
        ours = {name: value for name, value in os.environ.items() if name.startswith("TELLAPART_")}
        if home().is_dir():  # places of addresses must be the same there
            ours["TELLAPART_CACHE"] = str(home().parent)
        return cls(str(Path.cwd()), ours)

    def enter(self) -> None:
        """Make them those of this process, as far as they exist on its machine."""
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        os.environ.update(self.settings)


class Worker:
    """Does one shard after another; the task is opened with the first."""

    def __init__(self, task: ShardTask, settings: WorkerSettings | None = None) -> None:
        self._task, self._settings = task, settings
        self._make: Callable[[Any], ShardResult] | None = None

    def ready(self) -> bool:
        """Answers as soon as there is a process to answer."""
        return True

    def do(self, shard: Shard) -> ShardResult | Trouble:
        """What came out, or why nothing did."""
        try:
            if self._make is None:
                if self._settings is not None:
                    self._settings.enter()
                self._make = self._task.open()
            return self._make(shard.given)
        except Exception as error:
            return Trouble.of(error)


class ShardQueue:
    """Shards that wait for a worker: one that failed goes to the end, and is named at last."""

    def __init__(self, shards: Iterable[Shard]) -> None:
        self._waiting = deque(shards)
        self._tries: Counter[str] = Counter()
        self._failed: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def take(self) -> Shard:
        """The next one."""
        return self._waiting.popleft()

    def back(self, shard: Shard, trouble: Trouble) -> None:
        """A shard was not done; a mistake in the input ends everything at once."""
        if trouble.final:
            parts = dict(trouble.parts)
            raise BadInput(parts.pop("what"), **parts)
        self._tries[shard.name] += 1
        if self._tries[shard.name] < TRIES:
            self._waiting.append(shard)
        else:
            self._failed[shard.name] = "; ".join(
                trouble.parts[part] for part in ("what", "where") if part in trouble.parts
            )

    def settle(self) -> None:
        """Raise where shards could not be done; all others are done by now."""
        if not self._failed:
            return
        name, why = next(iter(self._failed.items()))
        others = [f"{name}: {why}" for name, why in list(self._failed.items())[1:4]]
        more = f" (and {len(self._failed) - 1:,} more: {'; '.join(others)})" if others else ""
        raise ShardFailed(
            f"shard {name} failed {TRIES} times: {why}{more}",
            todo="mend the cause and give the same command again: what is done is kept",
        )
