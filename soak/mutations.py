"""Mutations of files: of raw bytes, of packed contents, and of each format.

A mutation takes bytes and a random generator and returns other bytes; it is deterministic.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl
from polars._typing import ParquetCompression

from tellapart.errors import BadInput
from tellapart.parquet import read_parquet

Rng = np.random.Generator
Mutation = Callable[[bytes, Rng], bytes]
Thing = TypeVar("Thing")

LONG = 100_000
"""Characters of a text that is far too long."""

ODD_BYTES = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\n", b"\t",
    b'"', b"\\", b"{", b"[", b"]", b",", b";", b"#", b"=", b"-1", b"1e400", b"9" * 30, b"9" * 5000,
    b"NaN", b"null", b"\\ud800", b"\\u0000", b"\xe2\x80\xa8", b"\xf0\x9f\x98\x80", b"../",
)  # fmt: skip
LARGEST = 1 << 18
"""Bytes of the largest file that is changed inside; a bomb unpacks to more."""

BOMB = 8 << 20
"""How often a bomb, a packed file of some kilobytes, says the same thing."""


def pick(rng: Rng, things: Sequence[Thing]) -> Thing:
    """One of some things."""
    return things[int(rng.integers(len(things)))]


def place(rng: Rng, data: bytes) -> int:
    """A place in or at the end of bytes."""
    return int(rng.integers(len(data) + 1))


def flip(data: bytes, rng: Rng) -> bytes:
    """A few bits turned over."""
    changed = bytearray(data)
    for _ in range(int(rng.integers(1, 9)) if data else 0):
        changed[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def overwrite(data: bytes, rng: Rng) -> bytes:
    """A few bytes put over others."""
    at = place(rng, data)
    new = pick(rng, ODD_BYTES)
    return data[:at] + new + data[at + len(new) :]


def insert(data: bytes, rng: Rng) -> bytes:
    """A few bytes put between others."""
    at = place(rng, data)
    return data[:at] + pick(rng, ODD_BYTES) + data[at:]


def cut(data: bytes, rng: Rng) -> bytes:
    """The end taken away."""
    return data[: place(rng, data)]


def take_out(data: bytes, rng: Rng) -> bytes:
    """A part taken away."""
    begin = place(rng, data)
    return data[:begin] + data[begin + int(rng.integers(1, 65)) :]


def repeat(data: bytes, rng: Rng) -> bytes:
    """A part said again, once or many times."""
    begin = place(rng, data)
    end = begin + int(rng.integers(1, 129))
    return data[:end] + data[begin:end] * pick(rng, (1, 2, 50)) + data[end:]


def nest(data: bytes, rng: Rng) -> bytes:
    """Brackets opened far more often than any file has them."""
    at = place(rng, data)
    return data[:at] + pick(rng, (b"[", b'{"a":', b"(", b'"')) * pick(rng, (900, 3_000)) + data[at:]


def recode(data: bytes, rng: Rng) -> bytes:
    """The text in another encoding or with other line ends."""
    text = data.decode("utf-8", errors="replace")
    return pick(
        rng,
        (
            text.encode("utf-16"),
            text.encode("utf-16-le"),
            text.encode("latin-1", errors="replace").replace(b"a", b"\xe9"),
            b"\xef\xbb\xbf" + data,
            data.replace(b"\n", b"\r\n"),
            data.replace(b"\n", b"\r"),
        ),
    )


def nothing(data: bytes, rng: Rng) -> bytes:
    """Hardly anything left."""
    return pick(rng, (b"", b"\n", b" ", b"\x00", b"{}", b"[]", b"null", b"\xef\xbb\xbf"))


BYTES: tuple[Mutation, ...] = (
    flip, flip, overwrite, overwrite, insert, insert, cut, take_out, repeat, nest, recode,
)  # fmt: skip


def mutate_bytes(data: bytes, rng: Rng) -> bytes:
    """One of the mutations above."""
    return nothing(data, rng) if rng.random() < 0.005 else pick(rng, BYTES)(data, rng)


def splice(data: bytes, other: bytes, rng: Rng) -> bytes:
    """The beginning of one file and the end of another."""
    return data[: place(rng, data)] + other[place(rng, other) :]


def mutate_packed(data: bytes, inner: Mutation, rng: Rng) -> bytes:
    """Packed bytes: what is inside mutated, or the packing itself, or a bomb."""
    roll = rng.random()
    if roll < 0.001:
        return _packed(pick(rng, (b" ", b"\n", b"[", b"a,b\n")) * BOMB)
    if roll < 0.15:
        return mutate_bytes(data, rng)
    try:
        plain = zlib.decompressobj(wbits=31).decompress(data, LARGEST + 1)
    except zlib.error:
        return mutate_bytes(data, rng)
    if len(plain) > LARGEST:  # a bomb stays one
        return mutate_bytes(data, rng)
    if roll < 0.2:
        return plain  # not packed, whatever its name says
    return _packed(inner(plain, rng))


def _packed(data: bytes) -> bytes:
    return gzip.compress(data, compresslevel=1, mtime=0)


# JSON: values of other types, keys dropped, doubled and renamed, ids repeated.

JSON_VALUES = (
    "null", "true", "false", "0", "-1", "1.5", "1e400", "-1e400", "NaN", "Infinity", str(2**31),
    str(2**63), str(2**70), "1" * 400, "1" * 5000, '""', '" "', '"a"', '"7"', '"\\ud800"',
    '"\\u0000"', '"\\u2028"', '"../a.jpg"', '"/"', '"."', '"a/b"', '"\\u0663"', "[]", "{}", "[[]]",
    '[null, 1, "a"]', '{"a": {"b": []}}', '[{"bytes": 1}]', "[" * 500 + "]" * 500,
)  # fmt: skip
"""What a value is replaced by, as it stands in the file."""

LONG_JSON_VALUES = (f'"{"x" * LONG}"', f'"{"7" * LONG}"', f'"{"x/" * (LONG // 2)}a.jpg"')

JsonPlace = tuple[Any, Any]
"""A container and the key or index of a value in it."""


def mutate_json(data: bytes, rng: Rng) -> bytes:
    """One or two changes to the structure; what is not JSON is mutated as bytes."""
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng)
    raw: list[str] = []
    holder = [value]
    for _ in range(int(rng.integers(1, 3))):
        _change_json(holder, raw, rng)
    try:
        text = json.dumps(holder[0], ensure_ascii=bool(rng.integers(2)))
        return _filled(text, raw).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return mutate_bytes(data, rng)


def mutate_jsonl(data: bytes, rng: Rng) -> bytes:
    """The structure of one line changed, or the lines as such."""
    lines = data.split(b"\n")
    at = int(rng.integers(len(lines)))
    roll = rng.random()
    if roll < 0.7:
        lines[at] = mutate_json(lines[at], rng)
    elif roll < 0.8:
        lines.insert(at, pick(rng, lines))
    elif roll < 0.9:
        del lines[at]
    else:
        return mutate_bytes(data, rng)
    return b"\n".join(lines)


def _change_json(holder: list[Any], raw: list[str], rng: Rng) -> None:
    places = _places(holder)
    container, key = pick(rng, places)
    roll = rng.random()
    if roll < 0.5:
        container[key] = _mark(
            pick(rng, LONG_JSON_VALUES if rng.random() < 0.02 else JSON_VALUES), raw
        )
    elif roll < 0.65 and container is not holder:
        del container[key]
    elif roll < 0.8:
        container[key] = pick(rng, [inside[at] for inside, at in places[1:]] or [[]])
    elif isinstance(container, dict):
        name = pick(rng, ("id", "image", "caption", "", "a" * 300, f"{key} ", str(key).upper()))
        container[name] = container.pop(key) if roll < 0.9 else container[key]
    elif container is not holder:
        container.insert(key, container[key])


def _places(value: Any, limit: int = 400) -> list[JsonPlace]:
    """Where the values inside a value stand, the outermost first, up to a limit."""
    found: list[JsonPlace] = [(value, 0)]
    waiting = [value[0]]
    while waiting and len(found) < limit:
        one = waiting.pop(0)
        keys: Any = range(len(one)) if isinstance(one, list) else one
        if isinstance(one, dict | list):
            found += [(one, key) for key in keys]
            waiting += [one[key] for key in keys]
    return found


def _mark(text: str, raw: list[str]) -> str:
    """A name for a piece of JSON that Python would not write."""
    raw.append(text)
    return f"@raw {len(raw) - 1}@"


def _filled(text: str, raw: list[str]) -> str:
    for number, piece in enumerate(raw):
        text = text.replace(f'"@raw {number}@"', piece)
    return text


# Text in lines with cells: CSV, TSV, token files, key=value lines.

CELLS = (
    b"", b" ", b"a", b"0", b"-1", b"1.5", b"1e400", b"nan", b"inf", b"true", b"9" * 20, b"9" * 5000,
    b'"', b'"a', b'a"b', b'""', b'"a\nb"', b"\x00", b"\xff", b"\xed\xa0\x80", b"../a.jpg", b"/",
    b"#0", b"#1\t#1", b"answer_0=a", b"reference=7", b"=", b"a=", b"item", b"image", b"caption",
    b"\xd9\xa3", b"\xc2\xa0", b"\xe2\x80\xa8", b"0,0", b"s_0_1", b"caption@0", b"[]", b"a;b;;",
)  # fmt: skip
LONG_CELLS = (b"x" * LONG, b"7" * LONG, b"x/" * (LONG // 2), b"#1" * (LONG // 2))
SEPARATORS = (b",", b"\t", b";", b"|", b" ", b"=")


def mutate_lines(data: bytes, rng: Rng) -> bytes:
    """One or two changes to cells or lines."""
    for _ in range(int(rng.integers(1, 3))):
        data = _changed_lines(data, rng)
    return data


def _changed_lines(data: bytes, rng: Rng) -> bytes:
    separator = b"\t" if b"\t" in data else b","
    lines = data.split(b"\n")
    at = 0 if rng.random() < 0.2 else int(rng.integers(len(lines)))
    roll = rng.random()
    if roll < 0.6:
        lines[at] = separator.join(_ragged(lines[at].split(separator), rng))
    elif roll < 0.68:
        lines.insert(at, pick(rng, lines))
    elif roll < 0.74:
        del lines[at]
    elif roll < 0.78:
        lines[at] = lines[at].replace(separator, pick(rng, SEPARATORS))
    elif roll < 0.8:
        return data.replace(separator, pick(rng, SEPARATORS))
    elif roll < 0.82:
        lines = [lines[0], *(line for line in lines[1:] for _ in range(20))]
    else:
        return mutate_bytes(data, rng)
    return b"\n".join(lines)


def _ragged(cells: list[bytes], rng: Rng) -> list[bytes]:
    """A line's cells, one of them replaced, left out, doubled or exchanged with another."""
    at, roll = int(rng.integers(len(cells))), rng.random()
    if roll < 0.6:
        cells[at] = pick(rng, LONG_CELLS if rng.random() < 0.02 else CELLS)
    elif roll < 0.7:
        del cells[at]
    elif roll < 0.8:
        cells.insert(at, cells[at])
    elif roll < 0.9:
        cells[at] += pick(rng, CELLS)
    else:
        other = int(rng.integers(len(cells)))
        cells[at], cells[other] = cells[other], cells[at]
    return cells


# Parquet: columns dropped, renamed, retyped and nested; footers and pages damaged.

PARQUET_TYPES: tuple[Any, ...] = (
    pl.String, pl.Binary, pl.Int8, pl.Int64, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean, pl.Date,
    pl.Datetime("us"), pl.Datetime("ns", "UTC"), pl.Duration("ms"), pl.Time, pl.Categorical,
    pl.Decimal(20, 2), pl.Null, pl.List(pl.String), pl.List(pl.Int64),
)  # fmt: skip
PARQUET_VALUES: tuple[Any, ...] = (
    None, "", " ", "a", "7", "x" * LONG, "\x00", "../a.jpg", b"", b"\xff\xd8", 0, -1, 2**40, 2**62,
    1.5, float("nan"), float("inf"), True, [], ["a"], ["a", None], [[1]], {"bytes": None},
    {"bytes": b"a", "path": None}, {"path": "a.jpg"}, {"a": {"b": [1]}},
)  # fmt: skip
PARQUET_NAMES = (
    "id",
    "image",
    "caption",
    "Image",
    "caption_id",
    "objects",
    "",
    "a" * 300,
    "score",
    "0,0",
)
COMPRESSIONS: tuple[ParquetCompression, ...] = ("zstd", "snappy", "gzip", "lz4", "uncompressed")
CANNOT_BE_WRITTEN = (
    BadInput, pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError,
    OverflowError,
)  # fmt: skip
"""What is raised where a file is broken, or a table cannot be changed or written that way."""


def mutate_parquet(data: bytes, rng: Rng) -> bytes:
    """The table changed and written again, or the file's bytes damaged."""
    roll = rng.random()
    if roll < 0.5:
        try:
            # Read on trial first: this process must outlive what is broken already.
            table = read_parquet(Path("mutated.parquet"), data)
            return _parquet_bytes(_changed_table(table, rng), rng)
        except CANNOT_BE_WRITTEN:
            return _damaged_parquet(data, rng)
    return mutate_bytes(data, rng) if roll < 0.6 else _damaged_parquet(data, rng)


def _damaged_parquet(data: bytes, rng: Rng) -> bytes:
    """Bytes of the footer changed, which says where everything is, or bytes of the pages."""
    change = pick(rng, (flip, flip, overwrite, insert, take_out))
    length = int.from_bytes(data[-8:-4], "little") if data[-4:] == b"PAR1" else 0
    begin = len(data) - 8 - length
    if not 4 < begin < len(data) - 8:
        return mutate_bytes(data, rng)
    if rng.random() < 0.4:
        return change(data[:begin], rng) + data[begin:]
    footer = change(data[begin:-8], rng)
    size = len(footer) if rng.random() < 0.9 else int(rng.integers(2**32))
    return data[:begin] + footer + size.to_bytes(4, "little") + b"PAR1"


def _changed_table(table: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    name = pick(rng, table.columns) if table.columns else "a"
    column = table[name] if table.columns else pl.Series("a", [1])
    roll = int(rng.integers(9))
    if roll == 0:
        return table.drop(name)
    if roll == 1:
        return table.rename({name: pick(rng, PARQUET_NAMES)})
    if roll == 2:
        return table.with_columns(column.cast(pick(rng, PARQUET_TYPES), strict=False))
    if roll == 3:
        return table.with_columns(pl.Series(name, [pick(rng, PARQUET_VALUES)] * table.height))
    if roll == 4:
        return table.with_columns(pl.Series(name, [column.to_list()] * table.height))
    if roll == 5:
        inside = pl.col(name).alias(pick(rng, ("bytes", "path", "a")))
        return table.with_columns(pl.struct(inside).alias(name))
    if roll == 6:
        return table.with_columns(_one_changed(column, rng))
    if roll == 7:
        return table.head(0) if rng.random() < 0.2 else pl.concat([table, table])
    return table.with_columns(column.alias(pick(rng, PARQUET_NAMES)))


def _one_changed(column: pl.Series, rng: Rng) -> pl.Series:
    values = column.to_list()
    if values:
        new = pick(rng, (None, pick(rng, values), pick(rng, PARQUET_VALUES)))
        values[int(rng.integers(len(values)))] = new
    return pl.Series(column.name, values, dtype=pick(rng, (None, column.dtype)), strict=False)


def _parquet_bytes(table: pl.DataFrame, rng: Rng) -> bytes:
    file = io.BytesIO()
    table.write_parquet(file, compression=pick(rng, COMPRESSIONS), statistics=bool(rng.integers(2)))
    return file.getvalue()
