"""The workers that mine for a builder, and the folder of their shards, beside the output."""

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
    """A crew and its folder, in which each stage of the mining has a subfolder.

    Files are named by everything they depend on, so files of other options are never used.
    """

    crew: Crew
    folder: Path

    def do(self, stage: str, job: ShardJob, progress: Progress) -> None:
        """Compute the shards of a stage."""
        self.crew.do(ShardFolder(self.folder / stage), job, progress)

    def read(self, stage: str, name: str) -> Arrays | None:
        """The arrays of a shard; None if they are missing or incomplete."""
        return read_arrays(ShardFolder(self.folder / stage).path(name))


@contextmanager
def build_crew(out: Path, workers: str, shard: str, gather: bool) -> Iterator[BuildCrew | None]:
    """The crew of a builder; its folder is removed when the build succeeds."""
    crew = crew_of(workers, shard, gather)
    if crew is None:
        yield None
        return
    folder = out.parent / f".{out.name}.{NAME}{UNFINISHED}"
    yield BuildCrew(crew, folder)
    shutil.rmtree(folder, ignore_errors=True)
