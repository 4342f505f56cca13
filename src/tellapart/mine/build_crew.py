"""Who mines for a builder, and where the shards lie meanwhile: beside what is built."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tellapart.files import UNFINISHED
from tellapart.store.arrays import Arrays, read_arrays
from tellapart.types import Progress
from tellapart.work.crew import Crew, ShardJob
from tellapart.work.folder import ShardFolder
from tellapart.work.launchers import crew_of

NAME = "mining"


@dataclass(frozen=True, slots=True)
class BuildCrew:
    """A crew and its folder, in which each stage of the mining has one of its own.

    Files are named by all that they depend on: those of other options are never taken.
    """

    crew: Crew
    folder: Path

    def do(self, stage: str, job: ShardJob, progress: Progress) -> None:
        """Have the shards of a stage done."""
        self.crew.do(ShardFolder(self.folder / stage), job, progress)

    def read(self, stage: str, name: str) -> Arrays | None:
        """The arrays of a shard; None where there are none that are whole."""
        return read_arrays(ShardFolder(self.folder / stage).path(name))


@contextmanager
def build_crew(out: Path, workers: str, shard: str, gather: bool) -> Iterator[BuildCrew | None]:
    """The crew that a builder was told to use; its folder goes when the building ends well."""
    crew = crew_of(workers, shard, gather)
    if crew is None:
        yield None
        return
    folder = out.parent / f".{out.name}.{NAME}{UNFINISHED}"
    yield BuildCrew(crew, folder)
    shutil.rmtree(folder, ignore_errors=True)
