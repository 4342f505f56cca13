"""Who does the shards of a command: workers of a launcher, or this process its share by hand."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tellapart.errors import BadInput, PartDone
from tellapart.types import Progress
from tellapart.work.folder import ShardFolder
from tellapart.work.shard import Shard, ShardQueue, ShardTask, Trouble, Worker

log = logging.getLogger(__name__)


class Launcher(Protocol):
    """Has shards done somewhere."""

    def run(self, task: ShardTask, queue: ShardQueue, kept: ShardFolder) -> Iterator[Shard]:
        """Do all shards of the queue and keep them in the folder; each is named when it is done."""
        ...


@dataclass(frozen=True, slots=True)
class InThisProcess:
    """One shard after another, here."""

    def run(self, task: ShardTask, queue: ShardQueue, kept: ShardFolder) -> Iterator[Shard]:
        """Do them."""
        worker = Worker(task)
        while queue:
            shard = queue.take()
            made = worker.do(shard)
            if isinstance(made, Trouble):
                queue.back(shard, made)
                continue
            kept.keep(shard, made)
            yield shard


@dataclass(frozen=True, slots=True)
class Crew:
    """Who does the shards: a launcher's workers, or of `share` (i, n) every n-th shard from i on.

    With `gather` nothing is done: all shards must be there.
    """

    launcher: Launcher
    share: tuple[int, int] | None = None
    gather: bool = False

    def do(
        self,
        kept: ShardFolder,
        job: ShardJob,
        progress: Progress,
    ) -> None:
        """Have all shards of a job done; raises `PartDone` where only a share of them is."""
        shards = job.shards
        kept.begin(job.about, job.unit, shards)
        missing = [one for one in shards if not kept.has(one)]
        if self.gather:
            self._check_all(kept, job, missing)
            return
        mine = missing
        if self.share is not None:
            place = {one.name: number for number, one in enumerate(shards)}
            first, of = self.share
            mine = [one for one in missing if place[one.name] % of == first]
        total = sum(one.size for one in (mine if self.share else shards))
        done = total - sum(one.size for one in mine)
        if done and not self.share:
            log.info("%s: %d of %d shards are there", job.about,
                     len(shards) - len(missing), len(shards))  # fmt: skip
        queue = ShardQueue(mine)
        for shard in self.launcher.run(job.task, queue, kept):
            done += shard.size
            progress(job.unit, done, total)
        queue.settle()
        if self.share is not None:  # never gathers: two shares may end at one moment
            raise PartDone(job.about, sum(map(kept.has, shards)), len(shards))

    @staticmethod
    def _check_all(kept: ShardFolder, job: ShardJob, missing: Sequence[Shard]) -> None:
        if missing:
            names = ", ".join(one.name for one in missing[:3])
            dots = ", ..." if len(missing) > 3 else ""
            raise BadInput(
                f"{job.about}: {len(missing):,} of {len(job.shards):,} shards are missing "
                f"({names}{dots})",
                where=str(kept.folder),
                allowed="all shares done, with the very same options",
                todo="do the missing shares with --shard I/N, or give the command without "
                "--gather: it does what is missing",
            )


@dataclass(frozen=True, slots=True)
class ShardJob:
    """What is to be done: in words, in which unit, and the shards in their order."""

    about: str
    unit: str
    task: ShardTask
    shards: Sequence[Shard]
