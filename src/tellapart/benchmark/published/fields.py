"""Rows of a source file: their values, checked, with errors that name row and key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.decoding import can_be_written
from tellapart.errors import BadInput, presentable
from tellapart.tables import read_json


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a source: `title` is what errors call it, `where` its full place."""

    values: Mapping[str, Any]
    title: str
    where: str

    def get(self, key: str) -> Any:
        """A value that must be there."""
        value = self.values.get(key)
        if value is None:
            there = ", ".join(map(str, self.values)) or "none"
            raise BadInput(f'{self.title} has no "{key}"', allowed=f"its keys are: {there}")
        return value

    def text(self, key: str) -> str:
        """A text that is not empty."""
        value = self.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, kind_of(value), "text")
        if not value.strip():
            raise self.wrong(key, "empty", "text")
        if not can_be_written(value):
            raise self.wrong(key, f"no Unicode text: {value!a:.60}", "text that UTF-8 can hold")
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
        """A whole number of 0 or more, as such or as text."""
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

    def rows(self, key: str) -> list[Row]:
        """A list of objects."""
        value = self.get(key)
        if not isinstance(value, list):
            raise self.wrong(key, kind_of(value), "a list of objects")
        return [
            row_of(inner, f'"{key}" {number} of {self.title}', self.where)
            for number, inner in enumerate(value, 1)
        ]

    def inner(self, key: str) -> Row:
        """An object."""
        return row_of(self.get(key), f'"{key}" of {self.title}', self.where)

    def note(self, key: str) -> dict[str, str]:
        """A value for an item's notes; nothing where there is none."""
        value = self.values.get(key)
        if isinstance(value, list):
            value = ", ".join(map(str, value))
        return {} if value is None or value == "" else {key: presentable(str(value))}

    def wrong(self, key: str, seen: str, allowed: str) -> BadInput:
        """The error for a value that is not as it must be."""
        return BadInput(f'"{key}" of {self.title} is {seen}', allowed=allowed)


def row_of(value: object, title: str, where: str) -> Row:
    """A row, which must be an object."""
    if not isinstance(value, dict):
        raise BadInput(f"{title} is {kind_of(value)}", where=where, allowed="an object")
    return Row(value, title, where)


def kind_of(value: object) -> str:
    """A value as errors speak of it."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    names = {dict: "an object", list: "a list", bool: "a truth value", bytes: "bytes"}
    return names.get(type(value), f"the number {value}")


def json_object(path: Path, form: str) -> dict[str, Any]:
    """A JSON file that holds an object; `form` says how it should look."""
    data = read_json(path)
    if not isinstance(data, dict):
        raise BadInput(f"{path.name} holds {kind_of(data)}", where=str(path), allowed=form)
    return data


def json_list(data: object, name: str, path: Path, form: str) -> Iterator[tuple[str, str, Any]]:
    """The title, place and value of each row of a list, `name` being what it is called."""
    if not isinstance(data, list):
        what = f'"{name}" in {path.name}' if name else path.name
        raise BadInput(f"{what} is {kind_of(data)}", where=str(path), allowed=form)
    inside = f'"{name}" in ' if name else ""
    for number, value in enumerate(data, 1):
        where = f"{path}, {name}, row {number}" if name else f"{path}, row {number}"
        yield f"row {number} of {inside}{path.name}", where, value


def json_entries(path: Path, form: str) -> Iterator[tuple[str, str, str, Any]]:
    """The key, title, place and value of each entry of a file that holds an object of objects."""
    for name, value in json_object(path, form).items():
        key = presentable(name)
        yield key, f'row "{key}" of {path.name}', f'{path}, key "{key}"', value


def slug(text: str) -> str:
    """A name for a kind: lower case, words joined by hyphens.

    >>> slug("Noun phrases"), slug("action_replacement")
    ('noun-phrases', 'action-replacement')
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
