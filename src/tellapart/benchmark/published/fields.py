"""Rows of a source file and their checked fields; errors name the row and key.

Rows come from lists and objects in JSON (`list_rows`, `entry_rows`) and from tables (`table_rows`).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.errors import BadInput, presentable
from tellapart.files import (
    can_be_written,
    read_bytes,
    read_json,
    read_table,
    require_columns,
    suffix,
)
from tellapart.parquet import on_disk, read_slices, rows_of, schema_of, try_parquet, whole_parquet

SLICE = 256
"""How many rows of a Parquet file are in memory at a time; they may contain pictures."""


@dataclass(slots=True)  # not frozen: that would make rows three times as slow, and there are many
class SourceRow:
    """One row of a source.

    `number` counts the rows of its file from 0. `key` is its name if the file is an object of
    rows; `inside` is the name of the list in the file that it belongs to; `parent` is the row that
    contains it under `key`. `unit` is the word for a row in errors.
    """

    values: Mapping[str, Any]
    file: Path
    number: int = 0
    key: str = ""
    inside: str = ""
    parent: SourceRow | None = None
    unit: str = "row"

    @property
    def title(self) -> str:
        """The row's name in errors."""
        if self.parent is not None:
            return f"{self.key} of {self.parent.title}"
        if self.key:
            return f'{self.unit} "{self.key}" of {self.file.name}'
        within = f'"{self.inside}" in {self.file.name}' if self.inside else self.file.name
        return f"{self.unit} {self.number + 1} of {within}"

    @property
    def where(self) -> str:
        """Its full location for errors."""
        if self.parent is not None:
            return self.parent.where
        if self.key:
            return f'{self.file}, key "{self.key}"'
        within = f", {self.inside}" if self.inside else ""
        return f"{self.file}{within}, {self.unit} {self.number + 1}"

    def check(self) -> None:
        """Raise unless the row is an object."""
        if not isinstance(self.values, dict):
            raise BadInput(
                f"{self.title} is {kind_of(self.values)}", where=self.where, allowed="an object"
            )

    def has(self, key: str) -> bool:
        """Whether there is a value."""
        return self.values.get(key) is not None

    def get(self, key: str) -> Any:
        """A required value."""
        value = self.values.get(key)
        if value is None:
            known = ", ".join(map(str, self.values)) or "none"
            raise BadInput(f'{self.title} has no "{key}"', allowed=f"its keys are: {known}")
        return value

    def text(self, key: str) -> str:
        """A text that is not empty."""
        value = self.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, kind_of(value), "text")
        if not value.strip():
            raise self.wrong(key, "empty", "text")
        if not value.isascii() and not can_be_written(value):
            raise self.wrong(key, f"not Unicode text: {value!a:.60}", "text that UTF-8 can encode")
        return value

    def name(self, key: str) -> str:
        """An id: text, or a whole number as text."""
        value = self.get(key)
        if type(value) is int:
            return str(value)
        if not isinstance(value, str):
            raise self.wrong(key, kind_of(value), "text or a whole number")
        return self.text(key)

    def whole(self, key: str) -> int:
        """A whole number of 0 or more, as a number or as text."""
        value = self.get(key)
        if isinstance(value, str) and re.fullmatch(r"\d{1,18}", value):
            return int(value)
        if type(value) is not int or value < 0:
            raise self.wrong(key, kind_of(value), "a whole number, 0 or more")
        return value

    def truth(self, key: str) -> bool:
        """True or false."""
        value = self.get(key)
        if not isinstance(value, bool):
            raise self.wrong(key, kind_of(value), "true or false")
        return value

    def rows(self, key: str) -> list[SourceRow]:
        """A list of objects."""
        value = self.get(key)
        if not isinstance(value, list):
            raise self.wrong(key, kind_of(value), "a list of objects")
        return [self._inner(one, f'"{key}" {number}') for number, one in enumerate(value, 1)]

    def inner(self, key: str) -> SourceRow:
        """An object."""
        return self._inner(self.get(key), f'"{key}"')

    def _inner(self, value: Any, name: str) -> SourceRow:
        row = SourceRow(value, self.file, key=name, parent=self)
        row.check()
        return row

    def notes(self, *keys: str) -> dict[str, str]:
        """Values for an item's notes; missing and empty ones are omitted."""
        found: dict[str, str] = {}
        for key in keys:
            value = self.values.get(key)
            if isinstance(value, list):
                value = ", ".join(map(str, value))
            if value is not None and value != "":
                found[key] = presentable(str(value))
        return found

    def wrong(self, key: str, seen: str, allowed: str) -> BadInput:
        """The error for an invalid value."""
        return BadInput(f'"{key}" of {self.title} is {seen}', allowed=allowed)


def kind_of(value: object) -> str:
    """A description of a value for errors."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    names = {dict: "an object", list: "a list", bool: "a truth value", bytes: "bytes"}
    return names.get(type(value), f"the number {value}")


def json_object(file: Path, form: str) -> dict[str, Any]:
    """Read a JSON file that contains an object; `form` describes the expected format."""
    data = read_json(file)
    if not isinstance(data, dict):
        raise BadInput(f"{file.name} contains {kind_of(data)}", where=str(file), allowed=form)
    return data


def plain_columns(rows: object, types: Mapping[str, type]) -> dict[str, list[Any]] | None:
    """The values under some keys, one list each, if every row has all of them in these types.

    Texts must not be blank; numbers must be 0 or more and fit into 64 bits. None if any row needs
    a closer look: going through `SourceRow`s is several times slower, but names what is wrong in
    which row.
    """
    if not isinstance(rows, list) or set(map(type, rows)) != {dict}:
        return None
    columns: dict[str, list[Any]] = {}
    for key, kind in types.items():
        values = columns[key] = [row.get(key) for row in rows]
        if set(map(type, values)) != {kind}:
            return None
        if kind is str and not (all(map(str.strip, values)) and can_be_written(*values)):
            return None
        if kind is int and not (min(values) >= 0 and max(values) < 2**63):
            return None
    return columns


def list_rows(file: Path, form: str, data: object, name: str = "") -> Iterator[SourceRow]:
    """The rows of the list in a JSON file, or of its list under `name`."""
    if not isinstance(data, list):
        inside = f'"{name}" in {file.name}' if name else file.name
        raise BadInput(f"{inside} is {kind_of(data)}", where=str(file), allowed=form)
    for number, value in enumerate(data):
        yield SourceRow(value, file, number, inside=name)


def entry_rows(file: Path, data: Mapping[str, Any]) -> Iterator[SourceRow]:
    """The rows of the object of objects in a JSON file."""
    for number, (name, value) in enumerate(data.items()):
        yield SourceRow(value, file, number, presentable(name))


def table_rows(file: Path, needed: Sequence[str], more: Sequence[str] = ()) -> Iterator[SourceRow]:
    """The rows of a table; the `needed` columns are required, those of `more` are optional."""
    number = 0
    for table in _tables(file, needed, more):
        for values in rows_of(table, file):
            yield SourceRow(values, file, number)
            number += 1


def _tables(file: Path, needed: Sequence[str], more: Sequence[str]) -> Iterator[pl.DataFrame]:
    if suffix(file) != "parquet":
        table = read_table(file)
        require_columns(table, needed, file)
        yield table.select([*needed, *(name for name in more if name in table.columns)])
        return
    packed = file.name.lower().endswith(".gz") or not file.is_file()
    data = read_bytes(file) if packed else None
    with on_disk(file, data) as plain:
        try_parquet(file, plain, [*needed, *more], SLICE)
    source = file if data is None else io.BytesIO(data)
    with whole_parquet(file):
        require_columns(pl.DataFrame(schema=schema_of(source)), needed, file)
    yield from read_slices(file, source, [*needed, *more], SLICE)


def slug(text: str) -> str:
    """A name for a kind: lower case, words joined by hyphens.

    >>> slug("Noun phrases"), slug("action_replacement")
    ('noun-phrases', 'action-replacement')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
