"""Workers on this machine: processes that are given one shard at a time.

A process that dies costs the shard it was at, which another one gets; it is replaced as long as
shards wait. A worker whose parent dies finds its pipe closed and ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext, SpawnProcess

from tellapart.work.folder import ShardFolder
from tellapart.work.shard import (
    Shard,
    ShardQueue,
    ShardResult,
    ShardTask,
    Trouble,
    Worker,
    WorkerSettings,
)

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(slots=True)
class _Hand:
    """A process, the pipe to it, and the shard that it is at."""

    process: SpawnProcess
    pipe: Connection
    at: Shard | None = None

    def give(self, shard: Shard) -> None:
        """Send a shard; a process that is gone is found out when its answer is awaited."""
        self.at = shard
        with suppress(OSError):
            self.pipe.send(shard)

    def end(self) -> None:
        """Stop the process."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@dataclass(frozen=True, slots=True)
class Local:
    """So many processes on this machine."""

    workers: int

    def run(self, task: ShardTask, queue: ShardQueue, kept: ShardFolder) -> Iterator[Shard]:
        """Do all shards."""
        context = multiprocessing.get_context("spawn")
        hands: list[_Hand] = []
        try:
            while queue or any(hand.at for hand in hands):
                while len(hands) < self.workers and sum(h.at is None for h in hands) < len(queue):
                    hands.append(self._started(context, task))
                for hand in hands:
                    if hand.at is None and queue:
                        hand.give(queue.take())
                busy = {hand.pipe: hand for hand in hands if hand.at is not None}
                for pipe in wait(list(busy)):
                    hand = busy[pipe]  # type: ignore[index]
                    shard = self._answered(hand, hands, queue, kept)
                    if shard is not None:
                        yield shard
        finally:
            for hand in hands:
                hand.end()

    @staticmethod
    def _started(context: SpawnContext, task: ShardTask) -> _Hand:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        with suppress(OSError):
            ours.send((task, WorkerSettings.here()))
        return _Hand(process, ours)

    @staticmethod
    def _answered(
        hand: _Hand, hands: list[_Hand], queue: ShardQueue, kept: ShardFolder
    ) -> Shard | None:
        """Take an answer: the shard if it is done."""
        shard = hand.at
        assert shard is not None
        try:
            made = hand.pipe.recv()
        except (EOFError, OSError):
            hands.remove(hand)
            hand.end()
            code = hand.process.exitcode
            made = Trouble({"what": f"its process ended (exit code {code})"})
        hand.at = None
        if isinstance(made, Trouble):
            queue.back(shard, made)
            return None
        kept.keep(shard, made)
        return shard


def _serve(pipe: Connection) -> None:
    """What a worker does until its pipe is closed.

    It has one thread, however many workers there are: how threads share a sum changes its last
    digit. Said before the task comes, with which the libraries are loaded that read it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers itself
    for name in THREADS:
        os.environ.setdefault(name, "1")
    with suppress(EOFError, OSError):
        do = _received(pipe)
        while True:
            pipe.send(do(pipe.recv()))


def _received(pipe: Connection) -> Callable[[Shard], ShardResult | Trouble]:
    """What does shards; a task that cannot be read here is the trouble of each of them."""
    try:
        return Worker(*pipe.recv()).do
    except (EOFError, OSError):
        raise
    except Exception as error:
        trouble = Trouble.of(error)
        return lambda shard: trouble
