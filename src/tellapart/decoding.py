"""From the bytes of a file to what it says: unpacked, as text, as JSON, with clear errors."""

from __future__ import annotations

import codecs
import gzip
import io
import json
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput

MOST_UNPACKED, ALWAYS_UNPACKED = 100, 1 << 20
"""A packed file may unpack to so many times its size (text: 3 to 30), or to a megabyte."""

LOOKED_AT = 200
"""Bytes from which the encoding of a text is guessed."""


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


def text_of(data: bytes, path: Path) -> str:
    """Bytes as text; they must be UTF-8 (a byte-order mark is let through)."""
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
    found: dict[str, Any] = {}
    told: dict[type, str] = {str: "text", list: "a list of texts", dict: "an object"}
    for name, kind in kinds.items():
        if name not in data and name not in needed:
            continue
        value = data.get(name)
        texts = isinstance(value, list) and all(isinstance(one, str) for one in value)
        if not (texts if kind is list else isinstance(value, kind)):
            raise BadInput(
                f'"{name}" in {path.name} is {type(value).__name__}',
                where=str(path),
                allowed=told[kind],
                todo="write the folder again with tellapart; cards are not for changing by hand",
            )
        found[name] = tuple(value or ()) if kind is list else value
    return found
