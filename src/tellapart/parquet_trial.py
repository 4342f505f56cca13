"""Reads Parquet files on trial, in a process of its own: what `parquet.py` starts and asks.

Some damaged files do not make Polars raise but end the process, or fill the memory. They do so
here, where little memory may be had. A request is a line of JSON on stdin, the reply one on stdout;
without requests the process ends by itself.
"""

from __future__ import annotations

import io
import json
import select
import sys
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.parquet import slices

IDLE_SECONDS = 30
"""So long a process waits for the next file."""

LEAST, TIMES = 512 << 20, 100
"""Bytes of memory that a file may take: so many, or so many times its size."""


def main() -> None:
    """Answer requests until there are no more."""
    file = io.BytesIO()
    pl.DataFrame({"warm": [1]}).write_parquet(file)
    file.seek(0)
    pl.read_parquet(file)  # its threads are there before memory is limited
    while select.select([sys.stdin], [], [], IDLE_SECONDS)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        print(json.dumps({"wrong": _trial(json.loads(line))}), flush=True)


def _trial(request: dict[str, Any]) -> str:
    """What is wrong with a file, empty if nothing is: it is read just as it will be read."""
    path = Path(request["path"])
    try:
        _limit(max(LEAST, TIMES * path.stat().st_size))
        if request["columns"] is None:
            pl.read_parquet(path)
        else:
            for _ in slices(path, request["columns"], request["size"]):
                pass
    except BaseException as error:  # a panic of Polars is not an Exception
        return str(error).partition("\n")[0] or type(error).__name__
    return ""


def _limit(more: int) -> None:
    """Let this process have so many more bytes than it has now, where the system can limit that."""
    try:
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except (ImportError, OSError):
        return
    most = int(pages) * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
