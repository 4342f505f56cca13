"""A folder of shards: which there are, which are done, and how long the others will take.

`plan.json` lists the shards of a job with their sizes; each shard that is done is a file, written
whole. Nothing else is kept: who wants to know how far a job is looks at the files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput, TellapartError
from tellapart.files import UNFINISHED, read_json, whole_file, write_json
from tellapart.work.shard import Shard, ShardResult

PLAN = "plan.json"
NOTES = ".notes.json"
RECENT = 50
"""The pace of a job is that of so many shards, the last ones."""


@dataclass(frozen=True, slots=True)
class ShardFolder:
    """Where the shards of one job are kept."""

    folder: Path

    def begin(self, about: str, unit: str, shards: Sequence[Shard]) -> None:
        """Write the plan, which is the same for all who work on the job."""
        plan = {"about": about, "unit": unit, "shards": [[one.name, one.size] for one in shards]}
        path = self.folder / PLAN
        if not path.exists() or read_json(path) != plan:
            write_json(path, plan)

    def path(self, name: str) -> Path:
        """The file of a shard."""
        return self.folder / name

    def has(self, shard: Shard) -> bool:
        """Whether a shard is done."""
        return self.path(shard.name).is_file()

    def keep(self, shard: Shard, made: ShardResult) -> None:
        """Write what was made of a shard; notes first, as the file says that it is done."""
        if made.notes:
            write_json(self.path(shard.name + NOTES), dict(made.notes))
        with whole_file(self.path(shard.name)) as partial:
            partial.write_bytes(made.data)

    def notes(self, shards: Sequence[Shard]) -> Iterator[dict[str, Any]]:
        """The notes of those shards that have some."""
        for shard in shards:
            path = self.path(shard.name + NOTES)
            if path.exists():
                yield read_json(path)


@dataclass(frozen=True, slots=True)
class JobStatus:
    """How far one job is: its shards, those that are done, units, and the pace."""

    folder: Path
    about: str
    unit: str
    shards: int
    done: int
    units: int
    units_done: int
    seconds_left: float | None
    missing: tuple[str, ...]

    def __str__(self) -> str:
        text = (
            f"{self.about}: {self.done:,} of {self.shards:,} shards, "
            f"{self.units_done:,} of {self.units:,} {self.unit}"
        )
        if self.done == self.shards:
            return f"{text}; all are there"
        if self.seconds_left is not None:
            text += f", about {self.seconds_left / 60:.1f} min left at the last pace"
        return text

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "folder": str(self.folder), "about": self.about, "unit": self.unit,
            "shards": self.shards, "done": self.done, "units": self.units,
            "units_done": self.units_done, "seconds_left": self.seconds_left,
            "missing": list(self.missing),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class WorkStatus:
    """How far all unfinished jobs of a folder are."""

    folder: Path
    jobs: tuple[JobStatus, ...]

    def __str__(self) -> str:
        lines = [str(job) for job in self.jobs]
        return "\n".join(lines) if lines else f"{self.folder}: no work in shards is under way"

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"folder": str(self.folder), "jobs": [job.to_json() for job in self.jobs]}


def work_status(folder: Path) -> WorkStatus:
    """The unfinished work of a command that writes to `folder`, inside it or beside it."""
    places = [folder, *folder.parent.glob(f".{folder.name}.*{UNFINISHED}")]
    if not any(place.is_dir() for place in places):
        raise BadInput(
            f"{folder} does not exist, and no unfinished work lies beside it",
            allowed="the folder that a command with --workers or --shard writes to",
        )
    plans = sorted({path for place in places for path in place.rglob(PLAN)})
    return WorkStatus(folder, tuple(one for path in plans if (one := _status(path)) is not None))


def _status(path: Path) -> JobStatus | None:
    try:
        plan = read_json(path)
        shards = [Shard(name, size) for name, size in plan["shards"]]
        about, unit = str(plan["about"]), str(plan["unit"])
    except (TellapartError, OSError, KeyError, TypeError, ValueError, json.JSONDecodeError):
        return None  # it ended while we looked, or is not ours
    kept = ShardFolder(path.parent)
    done = [one for one in shards if kept.has(one)]
    units, units_done = sum(one.size for one in shards), sum(one.size for one in done)
    return JobStatus(
        path.parent, about, unit, len(shards), len(done), units, units_done,
        _seconds_left(kept, done, units - units_done),
        tuple(one.name for one in shards if not kept.has(one)),
    )  # fmt: skip


def _seconds_left(kept: ShardFolder, done: Sequence[Shard], left: int) -> float | None:
    """From the times at which the last shards were written."""
    times = sorted((kept.path(one.name).stat().st_mtime, one.size) for one in done)[-RECENT:]
    if len(times) < 2 or not left:
        return None
    spent, units = times[-1][0] - times[0][0], sum(size for _, size in times[1:])
    return spent / units * left if units and spent > 0 else None
