"""Parsing in several processes: each is a program of its own that is sent texts and sends columns.

Programs, not forks: they need no guard in the user's script, and share no threads with it. (spaCy's
own `n_process` sends whole documents back and forth, which takes longer than parsing them.)
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import IO

from tellapart.errors import TellapartError
from tellapart.text.parsing.by_spacy import load_pipeline, parse_columns
from tellapart.text.parsing.cache import from_file, to_bytes
from tellapart.text.parsing.parsed import Columns

LENGTH = struct.Struct("<Q")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Worker:
    """One such program."""

    def __init__(self, source: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD},
        )

    def parse(self, texts: Sequence[str]) -> Columns:
        """What the pipeline says of some texts."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            _send(process.stdin, json.dumps(list(texts)).encode())
            reply = _receive(process.stdout)
        except BrokenPipeError:
            reply = None
        if reply is None:
            raise TellapartError(
                f"a process that parses stopped (exit code {process.wait()})",
                todo="see what it said above; memory may have run out",
            )
        return from_file(io.BytesIO(reply))

    def close(self) -> None:
        """End the program."""
        self._process.kill()
        self._process.communicate()


def parse_in_processes(
    source: str, parts: Sequence[Sequence[str]], processes: int
) -> Iterator[tuple[int, Columns]]:
    """Each part's number and columns, as they come."""
    free: queue.SimpleQueue[Worker] = queue.SimpleQueue()

    def one(part: Sequence[str]) -> Columns:
        worker = free.get()
        try:
            return worker.parse(part)
        finally:
            free.put(worker)

    with contextlib.ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(processes))
        for _ in range(processes):
            worker = Worker(source)
            stack.callback(worker.close)
            free.put(worker)
        numbers = {pool.submit(one, part): number for number, part in enumerate(parts)}
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for done in as_completed(numbers):
            yield numbers.pop(done), done.result()


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(LENGTH.pack(len(data)) + data)
    stream.flush()


def _receive(stream: IO[bytes]) -> bytes | None:
    """The next message, or None where the other side has ended."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


def main() -> None:
    """The program: texts come in, columns go out, until there are no more."""
    source = sys.argv[1]
    texts_in, columns_out = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what libraries print must not mix with what is sent
    load_pipeline(source)
    while (data := _receive(texts_in)) is not None:
        _send(columns_out, to_bytes(parse_columns(source, json.loads(data))))


if __name__ == "__main__":
    main()
