"""Workers on a Ray cluster: one actor for each GPU, or for each core where there is none.

Each actor loads what it needs once and is given one shard at a time; nobody waits for anybody, so
that a node that dies costs the shards it was at. Results come back through Ray and are written by
the process that started the work: machines need not share a disk for them. Ray's usage statistics
stay off.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tellapart.errors import TellapartError, need
from tellapart.work.folder import ShardFolder
from tellapart.work.shard import Shard, ShardQueue, ShardTask, Trouble, Worker, WorkerSettings

NOBODY_SECONDS = 300.0
"""So long no worker at all may answer before the work is given up."""
LOOK_SECONDS = 5.0
"""How often the cluster is looked at for new nodes."""
ANSWER_SECONDS = 10.0
"""So long the cluster may take to accept a connection."""


@dataclass(frozen=True, slots=True)
class OnRay:
    """The cluster at an address; without one, a cluster on this machine's cores."""

    address: str = ""

    def run(self, task: ShardTask, queue: ShardQueue, kept: ShardFolder) -> Iterator[Shard]:
        """Do all shards."""
        if not queue:
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Says nothing of what we do, but would be printed with every start.
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        ray = need("ray", "ray", "--workers ray")
        ours = not ray.is_initialized()
        if ours:
            self._start(ray)
        actors = _Actors(ray, task)
        try:
            yield from actors.work(queue, kept)
        finally:
            actors.end()
            if ours:
                ray.shutdown()

    def _start(self, ray: Any) -> None:
        if self.address:
            check_answers(self.address)
        try:
            ray.init(
                address=self.address or None, log_to_driver=False, logging_level="error",
                **({} if self.address else {"include_dashboard": False}),
            )  # fmt: skip
        except (OSError, RuntimeError, ValueError) as error:  # another version, another service
            raise _no_cluster(self.address or "this machine", error) from error


def check_answers(address: str) -> None:
    """Raise if nobody listens at HOST:PORT, where Ray itself would try for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return  # such as "auto", which Ray resolves
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, error) from None


def _no_cluster(address: str, error: Exception) -> TellapartError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return TellapartError(
        f"no Ray cluster answers at {address}: {reason}",
        allowed="--workers ray:HOST:PORT, with the address that `ray start` printed",
        todo="look whether it runs with: ray status; without an address, --workers ray uses the "
        "cores of this machine",
    )


@dataclass(slots=True)
class _Actors:
    """The actors of one job: those that start, those that wait, those at a shard."""

    ray: Any
    task: ShardTask
    starting: dict[Any, Any] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)
    busy: dict[Any, tuple[Any, Shard]] = field(default_factory=dict)
    _task: Any = None
    _seen: float = 0.0
    _looked: float = 0.0

    def work(self, queue: ShardQueue, kept: ShardFolder) -> Iterator[Shard]:
        """Do all shards of a queue."""
        self._task = self.ray.put(self.task)  # sent to each node once
        self._seen = time.monotonic()
        while queue or self.busy:
            self._hire(len(queue))
            while self.idle and queue:
                actor, shard = self.idle.pop(), queue.take()
                self.busy[actor.do.remote(shard)] = actor, shard
            waiting = [*self.starting, *self.busy]
            ready, _ = self.ray.wait(waiting, timeout=LOOK_SECONDS)
            for answer in ready:
                done = self._answered(answer, queue, kept)
                if done is not None:
                    yield done
            self._check_alive()

    def _hire(self, waiting: int) -> None:
        """As many actors as the cluster has places for now, and shards need."""
        now = time.monotonic()
        if self._looked and now - self._looked < LOOK_SECONDS and (self.idle or self.busy):
            return
        self._looked = now
        resources = self.ray.cluster_resources()
        gpus = int(resources.get("GPU", 0))
        places = gpus or int(resources.get("CPU", 0))
        there = len(self.starting) + len(self.idle) + len(self.busy)
        wanted = min(places, waiting + len(self.busy))
        remote = self.ray.remote(num_cpus=1, num_gpus=1 if gpus else 0)(Worker)
        for _ in range(wanted - there):
            actor = remote.remote(self._task, WorkerSettings.here())
            self.starting[actor.ready.remote()] = actor

    def _answered(self, answer: Any, queue: ShardQueue, kept: ShardFolder) -> Shard | None:
        """Take an answer: the shard if one is done."""
        actor, shard = self.busy.pop(answer, None) or (self.starting.pop(answer), None)
        try:
            made = self.ray.get(answer)
        except self.ray.exceptions.RayError as error:
            self._dismiss(actor)
            first = str(error).strip().splitlines()[0]
            if shard is not None:
                queue.back(shard, Trouble({"what": f"its worker is gone ({first})"}))
            return None
        self._seen = time.monotonic()
        self.idle.append(actor)
        if shard is None:
            return None
        if isinstance(made, Trouble):
            queue.back(shard, made)
            return None
        kept.keep(shard, made)
        return shard

    def _check_alive(self) -> None:
        if self.idle or self.busy or time.monotonic() - self._seen < NOBODY_SECONDS:
            return
        raise TellapartError(
            f"no worker of the Ray cluster has answered for {NOBODY_SECONDS:.0f} seconds",
            allowed="a cluster with a node that is alive and has a free core",
            todo="look at it with: ray status; then give the same command again, it goes on",
        )

    def _dismiss(self, actor: Any) -> None:
        with suppress(Exception):  # whatever Ray says of an actor that is gone already
            self.ray.kill(actor)

    def end(self) -> None:
        """Let all actors go."""
        every = [*self.starting.values(), *self.idle, *(actor for actor, _ in self.busy.values())]
        for actor in every:
            self._dismiss(actor)
