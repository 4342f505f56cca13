"""Files: read with clear errors, plain or gzipped; written whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.errors import BadInput, UnknownName

TABLE_KINDS = ("csv", "tsv", "jsonl", "parquet")


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
        return gzip.decompress(data) if path.name.lower().endswith(".gz") else data
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
            todo=f"convert it, for example with: iconv -f latin1 -t utf-8 {path.name}",
        ) from None


def read_json(path: Path) -> Any:
    """A JSON file, plain or gzipped."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise BadInput(
            f"{path.name} is not JSON: {error.msg}",
            where=f"{path}, line {error.lineno}, column {error.colno}",
            todo="check that the file is whole",
        ) from None
    except RecursionError:
        raise BadInput(f"{path.name} is nested too deeply", where=str(path)) from None


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
    data = read_bytes(path) if kind == "parquet" else read_text(path).encode()
    try:
        if kind == "parquet":
            return pl.read_parquet(io.BytesIO(data))
        if kind == "jsonl":
            return _read_jsonl(data.decode(), path)
        return pl.read_csv(data, separator="\t" if kind == "tsv" else ",", infer_schema=False)
    except pl.exceptions.NoDataError:
        raise BadInput(f"{path.name} is empty", where=str(path)) from None
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{path.name} is not a whole .{kind} file: {reason}", where=str(path)) from (
            None
        )


def _read_jsonl(text: str, path: Path) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for line_number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise BadInput(
                f"line {line_number} of {path.name} is not JSON: {error}", where=str(path)
            ) from None
        if not isinstance(row, dict):
            raise BadInput(
                f"line {line_number} of {path.name} is not an object",
                where=str(path),
                allowed='one object a line, such as {"image": "a.jpg", "caption": "A dog."}',
            )
        rows.append(row)
    if not rows:
        raise BadInput(f"{path.name} is empty", where=str(path))
    columns = dict.fromkeys(name for row in rows for name in row)
    # Object columns first: a caption that is a number must reach the check that names its row.
    series = []
    for name in columns:
        values = [row.get(name) for row in rows]
        try:
            dtype = None if _one_type(values) else pl.Object
            series.append(pl.Series(name, values, dtype=dtype, strict=True))
        except (TypeError, pl.exceptions.PolarsError, OverflowError, UnicodeEncodeError):
            series.append(pl.Series(name, values, dtype=pl.Object))
    return pl.DataFrame(series)


def _one_type(values: list[Any]) -> bool:
    """Whether Polars would keep the values as they are (it makes text of a 3 among texts)."""
    given = [value for value in values if value is not None]
    inner = [one for value in given if isinstance(value, list) for one in value if one is not None]
    return len({type(value) for value in given}) <= 1 and len({type(one) for one in inner}) <= 1


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


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        partial.chmod(0o644)
        with partial.open("rb") as written:
            os.fsync(written.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def check_free(out: Path, *, overwrite: bool = False) -> None:
    """Raise where a folder would be in the way: before long work, not after it."""
    if out.exists() and not overwrite and not (out.is_dir() and not any(out.iterdir())):
        raise BadInput(
            f"{out} is there already",
            allowed="a path that does not exist yet, or an empty folder",
            todo="choose another path, or replace it with --overwrite (overwrite=True)",
        )


@contextlib.contextmanager
def whole_folder(out: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes `out` when the block ends well; else nothing is left."""
    check_free(out, overwrite=overwrite)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    partial.chmod(0o755)
    old = Path(f"{partial}.old")
    try:
        yield partial
        if out.exists():
            out.rename(old)
        partial.rename(out)
    finally:
        if old.exists() and not out.exists():
            old.rename(out)
        shutil.rmtree(partial, ignore_errors=True)
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
