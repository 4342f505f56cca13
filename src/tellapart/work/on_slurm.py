"""Workers on a Slurm cluster: jobs that submitit hands in, each with a part of the shards.

Machines of such a cluster share a disk: each job writes its shards itself, so that one that is
ended by its time limit loses the shard it was at, and what is left is handed in again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tellapart.errors import TellapartError, need
from tellapart.work.folder import ShardFolder
from tellapart.work.shard import Shard, ShardQueue, ShardTask, Trouble, Worker, WorkerSettings

LOOK_SECONDS = 0.5
LOGS = "jobs"


@dataclass(frozen=True, slots=True)
class SlurmJob:
    """What one job does: its shards one after another, kept as they are done."""

    task: ShardTask
    shards: Sequence[Shard]
    kept: ShardFolder
    settings: WorkerSettings

    def __call__(self) -> dict[str, Trouble]:
        """Do them; returns what went wrong, by shard."""
        worker = Worker(self.task, self.settings)
        failed: dict[str, Trouble] = {}
        for shard in self.shards:
            made = worker.do(shard)
            if isinstance(made, Trouble):
                failed[shard.name] = made
            else:
                self.kept.keep(shard, made)
        return failed


@dataclass(frozen=True, slots=True)
class OnSlurm:
    """So many jobs at a time; `settings` are submitit's (`partition`, `time`, `cluster`, ...)."""

    jobs: int = 8
    settings: tuple[tuple[str, str], ...] = ()

    def run(self, task: ShardTask, queue: ShardQueue, kept: ShardFolder) -> Iterator[Shard]:
        """Do all shards, in rounds: what a round did not do is handed in again."""
        submitit = need("submitit", "slurm", "--workers slurm")
        settings = dict(self.settings)
        cluster = settings.pop("cluster", "slurm")
        try:
            executor = submitit.AutoExecutor(folder=(kept.folder / LOGS).resolve(), cluster=cluster)
        except RuntimeError as no_cluster:  # submitit looks for srun
            raise TellapartError(
                f"--workers slurm cannot hand in jobs here: {no_cluster}",
                todo="run it where Slurm's commands are installed, or use --workers local:N",
            ) from no_cluster
        minutes = settings.pop("time", "")
        executor.update_parameters(
            name="tellapart",
            **({"timeout_min": int(minutes)} if minutes else {}),
            **{f"slurm_{key}": value for key, value in settings.items() if cluster == "slurm"},
        )
        here = ShardFolder(kept.folder.resolve())
        while queue:
            shards = [queue.take() for _ in range(len(queue))]
            lots = [shards[k :: self.jobs] for k in range(min(self.jobs, len(shards)))]
            with executor.batch():
                handed = [
                    executor.submit(SlurmJob(task, lot, here, WorkerSettings.here()))
                    for lot in lots
                ]
            yield from self._round(handed, shards, queue, kept)

    @staticmethod
    def _round(
        handed: list[Any], shards: list[Shard], queue: ShardQueue, kept: ShardFolder
    ) -> Iterator[Shard]:
        """Wait for jobs; shards are told as their files appear."""
        waiting = {one.name: one for one in shards}
        ended = False
        while not ended:
            ended = all(job.done() for job in handed)
            for shard in [one for one in waiting.values() if kept.has(one)]:
                del waiting[shard.name]
                yield shard
            if not ended:
                time.sleep(LOOK_SECONDS)
        troubles: dict[str, Trouble] = {}
        for job in handed:
            error = job.exception()
            if error is None:
                troubles |= job.result()
        lost = Trouble({"what": "its job ended before it was done (see the job's log)"})
        for shard in waiting.values():
            queue.back(shard, troubles.get(shard.name, lost))
