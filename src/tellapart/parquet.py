"""Parquet files, and what Polars does with broken ones, as clear errors.

A damaged file may make Polars raise one of its errors, panic (which is no `Exception`, and tells of
itself on stderr), fill the memory, or end the process. So a file is first read on trial in a
process of its own, `parquet.py`, which is kept for the next one.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import math
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.errors import BadInput

BROKEN = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, OverflowError)
"""What Polars raises when a file is damaged or has values that Python has no place for."""

SECONDS, SECONDS_A_MEGABYTE = 20.0, 1.0
"""How much processor time a trial may take: this much, and more for larger files."""
PATIENCE = 30
"""So many times as long may it take by the clock: the machine may have much else to do."""

IDLE_SECONDS = 30
"""How long the process for trials waits for the next file."""

LEAST_MEMORY, TIMES_ITS_SIZE = 512 << 20, 100
"""Memory that a file may take on trial: this many bytes, or this many times its size."""

_lock = threading.Lock()
_trials: dict[int, subprocess.Popen[str]] = {}
"""The process for trials, by the process that started it: one that was forked starts its own."""


@contextlib.contextmanager
def whole_parquet(path: Path) -> Iterator[None]:
    """Raise `BadInput` where a Parquet file that is read inside turns out to be broken."""
    try:
        yield
    except BROKEN as error:
        raise _broken(path, str(error).partition("\n")[0] or type(error).__name__) from None


def _broken(path: Path, reason: str) -> BadInput:
    return BadInput(
        f"{path.name} is not a whole .parquet file: {reason}",
        where=str(path),
        todo="fetch or write the file again",
    )


def read_parquet(path: Path, data: bytes | None = None) -> pl.DataFrame:
    """The table in a file; `data` is its content where that was packed."""
    with on_disk(path, data) as file:
        try_parquet(path, file)
        with whole_parquet(path):
            return pl.read_parquet(file)


@contextlib.contextmanager
def on_disk(path: Path, data: bytes | None) -> Iterator[Path]:
    """The path of a file, or of one with its content, as long as it is needed."""
    if data is None:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        file.write(data)
        file.flush()
        yield Path(file.name)


def try_parquet(
    path: Path, file: Path, columns: Sequence[str] | None = None, size: int = 0
) -> None:
    """Raise `BadInput` where a file cannot be read; `path` is what errors call it.

    It is read as it will be read: with `slices` where there are `columns`, else all at once.
    """
    if os.name != "posix":  # elsewhere one cannot wait for a pipe: files are read without a trial
        return
    megabytes = file.stat().st_size / 1e6
    seconds = SECONDS + SECONDS_A_MEGABYTE * megabytes
    request = {
        "path": str(file.absolute()), "columns": columns, "size": size, "seconds": seconds,
    }  # fmt: skip
    with _lock:
        wrong = _asked(request, seconds)
    if wrong:
        raise _broken(path, wrong)


def _asked(request: Mapping[str, Any], seconds: float) -> str:
    """What is wrong with a file, empty if nothing is."""
    for _ in range(2):  # a process that had just ended for want of requests is started anew
        try:
            trial = _trial_process()
        except OSError:
            break
        try:
            reply = _reply(trial, json.dumps(request) + "\n", PATIENCE * seconds)
        except BaseException:
            _ended(trial)  # interrupted: a reply that comes later must not be taken for another
            raise
        if reply:
            return str(json.loads(reply)["wrong"])
        signalled = -_ended(trial)
        if signalled in (signal.SIGKILL, signal.SIGXCPU):  # ours, or its own limit
            return f"Polars takes more than {seconds:.0f} s over it"
        if signalled > 0:
            return "Polars breaks down over it"
    return ""  # where no process can be started, files are read without a trial


def _reply(trial: subprocess.Popen[str], line: str, seconds: float) -> str:
    assert trial.stdin is not None and trial.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        trial.stdin.write(line)
        trial.stdin.flush()
        if select.select([trial.stdout], [], [], seconds)[0]:
            return trial.stdout.readline()
    return ""


def _trial_process() -> subprocess.Popen[str]:
    trial = _trials.get(os.getpid())
    if trial is None or trial.returncode is not None:
        trial = subprocess.Popen(
            [sys.executable, "-P", "-m", "tellapart.parquet"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        _trials[os.getpid()] = trial
    return trial


def _ended(trial: subprocess.Popen[str]) -> int:
    """End a process that does not reply; 0 if it had ended of itself."""
    assert trial.stdin is not None and trial.stdout is not None
    with contextlib.suppress(subprocess.TimeoutExpired):
        trial.wait(timeout=1)
    trial.kill()
    with contextlib.suppress(BrokenPipeError):
        trial.stdin.close()
    trial.stdout.close()
    return trial.wait()


@atexit.register
def _end_own() -> None:
    trial = _trials.get(os.getpid())
    if trial is not None and trial.returncode is None:
        trial.kill()
        _ended(trial)


def schema_of(source: Path | io.BytesIO) -> pl.Schema:
    """The names and types of a file's columns."""
    return pl.scan_parquet(source).collect_schema()


def slices(source: Path | io.BytesIO, names: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
    """The rows of those of the named columns that are there.

    They come `size` at a time where they may hold pictures, which are larger than the memory.
    """
    schema = schema_of(source)
    there = [name for name in names if name in schema]
    scan = pl.scan_parquet(source).select(there)
    height = scan.select(pl.len()).collect().item()
    heavy = any(isinstance(schema[name], pl.Binary | pl.Struct) for name in there)
    step = size if heavy else max(height, 1)
    for start in range(0, height, step):
        table = scan.slice(start, step).collect()
        if table.height != min(step, height - start):
            found = start + table.height
            raise pl.exceptions.ComputeError(f"it has {found:,} of the {height:,} rows it names")
        yield table


def read_slices(
    path: Path, source: Path | io.BytesIO, names: Sequence[str], size: int
) -> Iterator[pl.DataFrame]:
    """The same with clear errors; `path` is what they call the file."""
    parts = slices(source, names, size)
    while True:
        with whole_parquet(path):
            table = next(parts, None)
        if table is None:
            return
        yield table


def rows_of(table: pl.DataFrame, path: Path) -> list[dict[str, Any]]:
    """The rows of a table from Parquet as Python has them."""
    with whole_parquet(path):
        return table.to_dicts()


def typed(
    table: pl.DataFrame, columns: Mapping[str, Any], path: Path, *, filled: Collection[str] = ()
) -> pl.DataFrame:
    """Columns of a table that the toolkit wrote, in their types, which another writer may change.

    Those of `filled` have a value in every row, and lists in them in every place.
    """
    for name, wanted in columns.items():
        found = table.schema[name]
        if found != wanted:
            table = table.with_columns(_cast(table[name], wanted, path))
        if name in filled and _has_holes(table[name]):
            raise BadInput(
                f"{path.name} has a row without {name!r}",
                where=str(path),
                allowed="rows as tellapart wrote them",
                todo="write the folder again",
            )
    return table.select(list(columns))


def _cast(column: pl.Series, wanted: Any, path: Path) -> pl.Series:
    found = column.dtype
    alike = found.is_numeric() == wanted.is_numeric() and found.is_nested() == wanted.is_nested()
    try:
        cast = column.cast(wanted) if alike or found == pl.Null else column
    except BROKEN:
        cast = column
    if cast.dtype == wanted:  # Polars leaves some as they are, and says nothing
        return cast
    raise BadInput(
        f"the column {column.name!r} of {path.name} holds {found}",
        where=str(path),
        allowed=str(wanted),
        todo="write the folder again",
    )


def _has_holes(column: pl.Series) -> bool:
    """Whether there are nulls, also within lists."""
    while not column.null_count():
        if not isinstance(column.dtype, pl.List):
            return False
        column = column.filter(column.list.len() > 0).explode()
    return True


# The process for trials: a request is a line of JSON on stdin, the reply one on stdout. Some
# damaged files do not make Polars raise but end the process, or fill the memory: they do so here,
# where little memory may be had. Without requests the process ends by itself.


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
        _limit(max(LEAST_MEMORY, TIMES_ITS_SIZE * path.stat().st_size), request["seconds"])
        if request["columns"] is None:
            pl.read_parquet(path)
        else:
            for _ in slices(path, request["columns"], request["size"]):
                pass
    except BaseException as error:  # a panic of Polars is not an Exception
        return str(error).partition("\n")[0] or type(error).__name__
    return ""


def _limit(more: int, seconds: float) -> None:
    """Let this process have `more` bytes than it has now, and so much more processor time.

    Where the system can limit them.
    """
    try:
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except (ImportError, OSError):
        return
    most = int(pages) * resource.getpagesize() + more
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    until = math.ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main()
