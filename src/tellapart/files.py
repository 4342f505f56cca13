"""Files: read with clear errors, plain or gzipped; written whole or not at all.

Whatever is wrong is a `BadInput` that names the place. What is being written has a temporary path.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.errors import BadInput, DiskFull, UnknownName, disk_is_full, presentable
from tellapart.parquet import read_parquet
from tellapart.remote import is_half, promise, send

MOST_UNPACKED, ALWAYS_UNPACKED = 100, 1 << 20
"""A packed file may unpack to this many times its size (text: 3 to 30), or to a megabyte."""

LOOKED_AT = 200
"""Bytes from which the encoding of a text is guessed."""

MOST_CELLS = 10_000_000
"""A table may have this many cells of which nearly all are empty."""

TABLE_KINDS = ("csv", "tsv", "jsonl", "parquet")


# Bytes, text and JSON


def suffix(path: Path) -> str:
    """The lower-case ending that says the format, `.gz` left off.

    >>> suffix(Path("captions.CSV.gz"))
    'csv'
    """
    name = path.name.lower().removesuffix(".gz")
    return name.rpartition(".")[2] if "." in name else ""


def read_bytes(path: Path) -> bytes:
    """A file's bytes, unpacked if its name ends in `.gz`."""
    try:
        data = path.read_bytes()
        return unpacked(data, path) if path.name.lower().endswith(".gz") else data
    except FileNotFoundError:
        raise BadInput(
            f"there is no file {path.name}", where=str(path), todo="check the path"
        ) from None
    except IsADirectoryError:
        raise BadInput(f"{path.name} is a folder, not a file", where=str(path)) from None
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise BadInput(
            f"{path.name} is not a whole gzip file",
            where=str(path),
            todo="download or pack it again, or take the .gz off its name if it is not packed",
        ) from None
    except OSError as error:
        raise BadInput(f"cannot read {path.name}: {error.strerror}", where=str(path)) from None


def unpacked(data: bytes, path: Path) -> bytes:
    """The content of a gzip file; raises what `gzip` raises where it is not whole."""
    most = max(MOST_UNPACKED * len(data), ALWAYS_UNPACKED)
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise BadInput(
            f"{path.name} unpacks to more than {MOST_UNPACKED} times its size",
            where=str(path),
            allowed=f"at most {most:,} bytes out of these {len(data):,}",
            todo="unpack it with gunzip, look whether it holds what it should, and give that file",
        )
    return content


def read_text(path: Path) -> str:
    """A file's text; it must be UTF-8 (a byte-order mark is let through)."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(
            f"{path.name} is not UTF-8 text",
            where=f"{path}, byte {error.start}",
            allowed="UTF-8",
            todo=f"convert it, for example with: iconv -f {_encoding(data)} -t utf-8 {path.name}",
        ) from None


def _encoding(data: bytes) -> str:
    """What text that is not UTF-8 probably is, as iconv calls it."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without a mark: in Western text every other byte of UTF-16 is zero.
    start = data[:LOOKED_AT]
    if start[1::2].count(0) > len(start) // 4:
        return "utf-16le"
    return "utf-16be" if start[::2].count(0) > len(start) // 4 else "latin1"


def read_json(path: Path) -> Any:
    """A JSON file, plain or gzipped."""
    return json_of(read_text(path), path.name, str(path), "check that the file is whole")


def json_of(text: str, name: str, where: str, todo: str = "") -> Any:
    """What a text says in JSON; `name` is what errors call it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        place = f", line {error.lineno}, column {error.colno}"
        raise BadInput(f"{name} is not JSON: {error.msg}", where=where + place, todo=todo) from None
    except RecursionError:
        raise BadInput(f"{name} is nested too deeply", where=where) from None
    except ValueError:  # Python reads no longer ones, as they would take forever
        raise BadInput(
            f"{name} has a number that is too long",
            where=where,
            allowed=f"numbers of at most {sys.get_int_max_str_digits():,} digits",
            todo="mend the number, or write it as text if it is an id",
        ) from None


def can_be_written(*texts: str) -> bool:
    """Whether there is no half of a surrogate pair (from broken JSON or a broken file name)."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def fields_of(
    data: Mapping[str, Any], kinds: Mapping[str, type], path: Path, *, needed: Collection[str] = ()
) -> dict[str, Any]:
    """The values in a card's JSON that `kinds` names, of the types that it says.

    Lists are of texts and become tuples; what is not there, and not `needed`, is left out.
    """
    fields: dict[str, Any] = {}
    allowed: dict[type, str] = {str: "text", list: "a list of texts", dict: "an object"}
    for name, kind in kinds.items():
        if name not in data and name not in needed:
            continue
        value = data.get(name)
        texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not (texts if kind is list else isinstance(value, kind)):
            raise BadInput(
                f'"{name}" in {path.name} is {type(value).__name__}',
                where=str(path),
                allowed=allowed[kind],
                todo="write the folder again with tellapart; cards are not for changing by hand",
            )
        fields[name] = tuple(value or ()) if kind is list else value
    return fields


# Tables


def read_table(path: Path) -> pl.DataFrame:
    """A table from CSV, TSV, JSONL or Parquet, plain or gzipped.

    Text tables are read as text throughout (an image called `007` stays `007`); the columns
    that hold numbers are converted by whoever needs them.
    """
    kind = suffix(path)
    if kind not in TABLE_KINDS:
        raise BadInput(
            f"{path.name} is not a table that can be read",
            where=str(path),
            allowed=", ".join(f".{k}" for k in TABLE_KINDS) + ", each also with .gz",
        )
    if kind == "parquet":
        packed = path.name.lower().endswith(".gz")
        # A file that is not there is left to `read_bytes`, which says so.
        return read_parquet(path, read_bytes(path) if packed or not path.is_file() else None)
    text = read_text(path)
    if kind == "jsonl":
        return _read_jsonl(text, path)
    try:
        separator = "\t" if kind == "tsv" else ","
        return pl.read_csv(text.encode(), separator=separator, infer_schema=False)
    except pl.exceptions.NoDataError:
        raise BadInput(f"{path.name} is empty", where=str(path)) from None
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise BadInput(f"{path.name} is not a whole .{kind} file: {reason}", where=str(path)) from (
            None
        )


def _read_jsonl(text: str, path: Path) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for line_number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = json_of(line, f"line {line_number} of {path.name}", str(path))
        if not isinstance(row, dict):
            raise BadInput(
                f"line {line_number} of {path.name} is not an object",
                where=str(path),
                allowed='one object a line, such as {"image": "a.jpg", "caption": "A dog."}',
            )
        rows.append(row)
    if not rows:
        raise BadInput(f"{path.name} is empty", where=str(path))
    return table_of(rows, path)


def table_of(rows: Sequence[Mapping[str, Any]], path: Path) -> pl.DataFrame:
    """The rows that a file holds as JSON objects; values stay as they are, of whatever type.

    A caption that is a number must reach the check that names its row, so what Polars would
    change (it makes text of a 3 among texts) or cannot hold is kept as Python's own objects.
    """
    # A name that cannot be written is no column that anybody asks for.
    columns = dict.fromkeys(presentable(name) for row in rows for name in row)
    given = sum(map(len, rows))
    if len(columns) * len(rows) > max(MOST_CELLS, 100 * given):
        raise BadInput(
            f"the rows of {path.name} have {len(columns):,} different keys",
            where=str(path),
            allowed="about the same keys in every row",
            todo="put what is in the names of the keys into values",
        )
    return pl.DataFrame([_column(name, [row.get(name) for row in rows]) for name in columns])


def _column(name: str, values: list[Any]) -> pl.Series:
    try:
        dtype = None if _one_type(values) else pl.Object
        return pl.Series(name, values, dtype=dtype, strict=True)
    except (TypeError, pl.exceptions.PolarsError, OverflowError, UnicodeEncodeError):
        return pl.Series(name, values, dtype=pl.Object)


def _one_type(values: list[Any]) -> bool:
    """Whether Polars would keep the values as they are: of one plain type, or lists of one."""
    given = [value for value in values if value is not None]
    inner = [one for value in given if isinstance(value, list) for one in value if one is not None]
    kinds, inner_kinds = {type(value) for value in given}, {type(one) for one in inner}
    nested = dict in kinds or inner_kinds & {dict, list}
    return not nested and len(kinds) <= 1 and len(inner_kinds) <= 1


def require_columns(table: pl.DataFrame, names: Sequence[str], path: Path) -> None:
    """Raise unless all of `names` are columns; says which are there and which are near."""
    for name in names:
        if name not in table.columns:
            error = UnknownName("column", name, table.columns)
            error.where = str(path)
            error.todo = (error.todo + " " if error.todo else "") + (
                "name the column to use (see --help), or rename it in the file"
            )
            raise error


# Writing


@contextlib.contextmanager
def told_when_full(path: Path) -> Iterator[None]:
    """A full disk, whichever library meets it, is an error that names what was to be written."""
    try:
        yield
    except DiskFull:
        raise
    except Exception as error:
        if disk_is_full(error):
            raise DiskFull(path) from error
        raise


@contextlib.contextmanager
def whole_file(path: Path, mode: int = 0o644) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent not in _tidied:  # once: a folder may have very many files
        _tidied.add(path.parent)
        take_leftovers_away(path.parent)
    with _new_partial(path, tempfile.mkstemp) as partial:
        try:
            with told_when_full(path):
                yield partial
            partial.chmod(mode)
            with partial.open("rb") as written:
                os.fsync(written.fileno())
            promise(path)
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
    send(path)


def is_free(out: Path) -> bool:
    """Whether nothing would be in the way of a folder here."""
    return not out.exists() or (out.is_dir() and not any(out.iterdir())) or is_half(out)


def check_free(out: Path, *, overwrite: bool = False) -> None:
    """Raise where a folder would be in the way: before long work, not after it."""
    if not (overwrite or is_free(out)):
        raise BadInput(
            f"{out} already exists",
            allowed="a path that does not exist yet, or an empty folder",
            todo="choose another path, or replace it with --overwrite (overwrite=True)",
        )


@contextlib.contextmanager
def whole_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `out` when the block ends well; else nothing is left.

    What a killed process left beside `out` is taken away first.
    """
    take_leftovers_away(out.parent)
    check_free(out, overwrite=overwrite)
    out.parent.mkdir(parents=True, exist_ok=True)
    with _new_partial(out, tempfile.mkdtemp) as partial:
        partial.chmod(0o755)
        try:
            with told_when_full(out):
                yield partial
            _take_place(partial, out)
        except DiskFull as error:  # of a file inside, whose temporary place tells nobody anything
            raise DiskFull(out) from error
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def resumable_folder(
    out: Path, job: str, *, overwrite: bool = False, finish: bool = True
) -> Iterator[Path]:
    """A folder that becomes `out` when the block ends well; else it stays, to be gone on with.

    `job` is the hash of all that the result depends on: only the same job finds the folder again.
    What other jobs left unfinished under this name goes when one ends well. Of several processes
    that work on it one alone may `finish`.
    """
    take_leftovers_away(out.parent)
    check_free(out, overwrite=overwrite)
    partial = out.parent / f".{out.name}.{job[:16]}{UNFINISHED}"
    partial.mkdir(parents=True, exist_ok=True)
    with told_when_full(out):
        yield partial
    if not finish:
        return
    _take_place(partial, out)
    for left in out.parent.glob(f".{out.name}.*{UNFINISHED}"):
        shutil.rmtree(left, ignore_errors=True)


def _take_place(partial: Path, out: Path) -> None:
    """Put a finished folder where an older one may be, which is kept until that has worked."""
    old = Path(f"{partial}.old")
    promise(out)
    try:
        if out.exists():
            out.rename(old)
        partial.rename(out)
    finally:
        if old.exists() and not out.exists():
            old.rename(out)
        shutil.rmtree(old, ignore_errors=True)
    send(out)


# What is being written has a name of its own and a lock: without the lock its process is gone.

MARK, UNFINISHED = ".tellapart", ".unfinished"
LEFTOVER = re.compile(
    rf"\.(?P<name>.+)\.(?:[a-z0-9_]{{8}}\{MARK}(?P<old>\.old)?|[0-9a-f]+\{UNFINISHED}(?P<older>\.old))"
)
_tidied: set[Path] = set()


@contextlib.contextmanager
def _new_partial(path: Path, make: Callable[..., Any]) -> Iterator[Path]:
    """A new temporary file or folder beside `path`, locked while the block lasts."""
    while True:
        made = make(prefix=f".{path.name}.", suffix=MARK, dir=path.parent)
        if isinstance(made, tuple):
            os.close(made[0])
            made = made[1]
        with _locked(Path(made)) as ours:
            if ours is not False:  # else another process tidied up before it was locked
                yield Path(made)
                return


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[bool | None]:
    """Whether a file or folder is there and locked for this block; None where nothing can be."""
    if sys.platform == "win32":
        yield None
        return
    import fcntl

    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        yield False
        return
    ours: bool | None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ours = os.path.samestat(os.fstat(handle), path.lstat())
    except (BlockingIOError, FileNotFoundError):
        ours = False
    except OSError:  # some file systems over a network have no locks
        ours = None
    try:
        yield ours
    finally:
        os.close(handle)


def take_leftovers_away(folder: Path) -> None:
    """Remove what killed processes of the toolkit left half-written in a folder.

    A folder that was being replaced at that moment gets back what it held.
    """
    if sys.platform == "win32" or not folder.is_dir():
        return
    found = [(LEFTOVER.fullmatch(one.name), Path(one)) for one in os.scandir(folder)]
    for match, path in sorted(((m, p) for m, p in found if m), key=lambda pair: pair[1]):
        if match["old"] or match["older"]:
            _put_back(path, folder / match["name"])
            continue
        with _locked(path) as ours:
            if ours and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif ours:
                path.unlink(missing_ok=True)


def _put_back(old: Path, out: Path) -> None:
    """What a replaced folder held, unless its replacement is there, or on its way."""
    if old.with_suffix("").exists():
        return
    if not out.exists():
        with contextlib.suppress(OSError):
            old.rename(out)
    shutil.rmtree(old, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file whole."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write a JSON file whole, readable by people, always the same bytes for the same value."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n")


def write_parquet(path: Path, table: pl.DataFrame) -> None:
    """Write a Parquet file whole."""
    with whole_file(path) as partial:
        table.write_parquet(partial, compression="zstd", statistics=False)


def check_table_name(path: Path, what: str = "a table") -> None:
    """Raise unless a table can be written under this name."""
    if suffix(path) not in TABLE_KINDS or path.name.lower().endswith(".gz"):
        raise BadInput(
            f"{path.name} is not a name for {what}",
            allowed=", ".join(f".{one}" for one in TABLE_KINDS),
        )


def write_table(path: Path, table: pl.DataFrame) -> None:
    """Write a table whole, in the form that the file's name ends in."""
    check_table_name(path)
    kind = suffix(path)
    if kind == "parquet":
        write_parquet(path, table)
        return
    with whole_file(path) as partial:
        if kind == "jsonl":
            table.write_ndjson(partial)
        else:
            table.write_csv(partial, separator="\t" if kind == "tsv" else ",")
