"""The work of a command in stages, each cut into shards, in a folder beside the command's output.

A stage may need the results of those before it. With shares by hand, each is therefore run once
more for each stage.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tellapart.errors import BadInput, PartDone
from tellapart.files import UNFINISHED
from tellapart.store.arrays import Arrays, read_arrays
from tellapart.types import Progress
from tellapart.work.crew import Crew, ShardJob
from tellapart.work.folder import ShardFolder
from tellapart.work.launchers import crew_of

NAME = "stages"


@dataclass(frozen=True, slots=True)
class StagedCrew:
    """A crew and its folder, in which each stage has a subfolder.

    Files are named by everything they depend on, so files of other options are never used. Stages
    are named WHAT or WHAT-HASH; `earlier` are those that others follow.
    """

    crew: Crew
    folder: Path
    earlier: tuple[str, ...] = ()

    def kept(self, stage: str) -> ShardFolder:
        """The folder of a stage's shards."""
        return ShardFolder(self.folder / stage)

    def do(self, stage: str, job: ShardJob, progress: Progress) -> None:
        """Have the shards of a stage done; a share by hand raises `PartDone`.

        But it goes on where all shards of an earlier stage are there.
        """
        try:
            self.crew.do(self.kept(stage), job, progress)
        except PartDone as part:
            if stage.partition("-")[0] not in self.earlier or part.done < part.total:
                raise

    def read(self, stage: str, name: str) -> Arrays | None:
        """The arrays of a shard; None if they are missing or incomplete."""
        return read_arrays(self.kept(stage).path(name))


@contextmanager
def staged_crew(
    out: Path, workers: str, shard: str, gather: bool, earlier: tuple[str, ...] = ()
) -> Iterator[StagedCrew | None]:
    """The crew of a command that writes to `out`; its folder is removed when the command succeeds.

    None where the command does the work itself.
    """
    crew = crew_of(workers, shard, gather)
    if crew is None:
        yield None
        return
    folder = out.parent / f".{out.name}.{NAME}{UNFINISHED}"
    yield StagedCrew(crew, folder, earlier)
    shutil.rmtree(folder, ignore_errors=True)


def no_shards(what: str, allowed: str) -> BadInput:
    """The error for work that cannot be cut, given with --workers, --shard or --gather."""
    return BadInput(
        f"{what} is not cut into shards",
        where="--workers, --shard, --gather",
        allowed=allowed,
        todo="run the command without these flags",
    )
