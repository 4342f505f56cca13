"""Reading Parquet files, with clear errors for broken ones.

A damaged file may make Polars raise an error, panic (which is not an `Exception` and prints to
stderr), fill the memory, or kill the process. So a file is first read on trial in a separate
process (this module run as a program), which is kept for the next file.
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
"""Exceptions that Polars raises for damaged files and for values that Python cannot hold."""

SECONDS, SECONDS_A_MEGABYTE = 20.0, 1.0
"""Processor time allowed for a trial: a base, and more for larger files."""
PATIENCE = 30
"""Factor for the allowed wall-clock time, because the machine may be busy."""

IDLE_SECONDS = 30
"""How long the trial process waits for the next file."""

LEAST_MEMORY, TIMES_ITS_SIZE = 512 << 20, 100
"""Memory allowed for a trial: at least this many bytes, or this many times the file's size."""

_lock = threading.Lock()
_trials: dict[int, subprocess.Popen[str]] = {}
"""The trial process of each process; a forked process starts its own."""


@contextlib.contextmanager
def whole_parquet(path: Path) -> Iterator[None]:
    """Raise `BadInput` if a Parquet file read inside the block turns out to be broken."""
    try:
        yield
    except BROKEN as error:
        raise _broken(path, str(error).partition("\n")[0] or type(error).__name__) from None


def _broken(path: Path, reason: str) -> BadInput:
    return BadInput(
        f"{path.name} is not an intact .parquet file: {reason}",
        where=str(path),
        todo="get or write the file again",
    )


def read_parquet(path: Path, data: bytes | None = None) -> pl.DataFrame:
    """Read the table in a file; `data` is its content if it was compressed."""
    with on_disk(path, data) as file:
        try_parquet(path, file)
        with whole_parquet(path):
            return pl.read_parquet(file)


@contextlib.contextmanager
def on_disk(path: Path, data: bytes | None) -> Iterator[Path]:
    """The path of a file, or of a temporary file with the given content."""
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
    """Raise `BadInput` if a file cannot be read; errors name it by `path`.

    The trial reads it in the same way as later: with `slices` if there are `columns`, else whole.
    """
    if not os.access(file, os.R_OK) and file.exists():
        raise BadInput(
            f"no permission to read {path.name}", where=str(path), todo="allow it, or copy the file"
        )
    if os.name != "posix":  # other systems cannot wait for a pipe: read without a trial
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
    """The problem with a file; empty if there is none."""
    for _ in range(2):  # restart a process that has just ended because it was idle
        try:
            trial = _trial_process()
        except OSError:
            break
        try:
            reply = _reply(trial, json.dumps(request) + "\n", PATIENCE * seconds)
        except BaseException:
            _ended(trial)  # interrupted: a late reply must not be mistaken for the next one
            raise
        if reply:
            return str(json.loads(reply)["wrong"])
        signalled = -_ended(trial)
        if signalled in (signal.SIGKILL, signal.SIGXCPU):  # killed by us, or by its own limit
            return f"Polars takes more than {seconds:.0f} s to read it"
        if signalled > 0:
            return "Polars crashes when reading it"
    return ""  # if no process can be started, files are read without a trial


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
    """End a process that does not reply; returns 0 if it had ended by itself."""
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
    """The rows of the named columns that exist.

    If they may contain pictures, they come `size` at a time, because they may not fit into memory.
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
            raise pl.exceptions.ComputeError(f"it has {found:,} of the {height:,} declared rows")
        yield table


def read_slices(
    path: Path, source: Path | io.BytesIO, names: Sequence[str], size: int
) -> Iterator[pl.DataFrame]:
    """Like `slices`, with clear errors that name the file by `path`."""
    parts = slices(source, names, size)
    while True:
        with whole_parquet(path):
            table = next(parts, None)
        if table is None:
            return
        yield table


def rows_of(table: pl.DataFrame, path: Path) -> list[dict[str, Any]]:
    """The rows of a table from Parquet as Python values."""
    with whole_parquet(path):
        return table.to_dicts()


def typed(
    table: pl.DataFrame, columns: Mapping[str, Any], path: Path, *, filled: Collection[str] = ()
) -> pl.DataFrame:
    """Columns of a table that the toolkit wrote, cast to their types, which may have been changed.

    Columns in `filled` must have a value in every row, and in every place of their lists.
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
    if cast.dtype == wanted:  # Polars silently leaves some unchanged
        return cast
    raise BadInput(
        f"the column {column.name!r} of {path.name} has type {found}",
        where=str(path),
        allowed=str(wanted),
        todo="write the folder again",
    )


def _has_holes(column: pl.Series) -> bool:
    """Whether there are nulls, including inside lists."""
    while not column.null_count():
        if not isinstance(column.dtype, pl.List):
            return False
        column = column.filter(column.list.len() > 0).explode()
    return True


# The trial process: a request is a line of JSON on stdin, the reply one on stdout. Some damaged
# files make Polars kill the process or fill the memory instead of raising; here that does no harm,
# because memory is limited. Without requests, the process ends by itself.


def main() -> None:
    """Answer requests until there are no more."""
    file = io.BytesIO()
    pl.DataFrame({"warm": [1]}).write_parquet(file)
    file.seek(0)
    pl.read_parquet(file)  # starts its threads before memory is limited
    while select.select([sys.stdin], [], [], IDLE_SECONDS)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        print(json.dumps({"wrong": _trial(json.loads(line))}), flush=True)


def _trial(request: dict[str, Any]) -> str:
    """The problem with a file, empty if there is none; it is read in the same way as later."""
    path = Path(request["path"])
    try:
        _limit(max(LEAST_MEMORY, TIMES_ITS_SIZE * path.stat().st_size), request["seconds"])
        if request["columns"] is None:
            pl.read_parquet(path)
        else:
            for _ in slices(path, request["columns"], request["size"]):
                pass
    except BaseException as error:  # a Polars panic is not an Exception
        return str(error).partition("\n")[0] or type(error).__name__
    return ""


def _limit(more: int, seconds: float) -> None:
    """Limit this process to `more` bytes and `seconds` of processor time beyond its present use.

    Limits that the system sets stay as they are, since only a lower one is allowed. Does nothing
    where there are no limits.
    """
    try:
        import resource

        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
    except (ImportError, OSError):
        return
    most = int(pages) * resource.getpagesize() + more
    until = math.ceil(time.process_time() + seconds)
    for what, own in ((resource.RLIMIT_AS, most), (resource.RLIMIT_CPU, until)):
        hard = resource.getrlimit(what)[1]
        allowed = own if hard == resource.RLIM_INFINITY else min(own, hard)
        resource.setrlimit(what, (allowed, hard))


if __name__ == "__main__":
    main()
