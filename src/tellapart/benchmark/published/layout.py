"""Layouts: how the rows of any file become items, described in a few lines of YAML.

A layout names the columns of images and captions and says which pairs are true; it turns any table
into a benchmark without code. A column is named by its path (`mturk.caption`, `1.POS.0`; numbers
are indices in lists); `a|b` is the first of two that exists, `a?` one that may be missing. Braces
in text are filled in: `{type}/{id}.jpg`; `{@file}`, `{@folder}`, `{@number}` and `{@key}` give the
location of the row.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tellapart.benchmark.published.fields import SourceRow, kind_of
from tellapart.benchmark.published.votes import Votes
from tellapart.corpus.reader import name_of
from tellapart.errors import BadInput, UnknownName

BRACES = re.compile(r"\{([^{}]+)\}")
CELLS = re.compile(r"\d+:\d+(\s*,\s*\d+:\d+)*")
RULES = ("first", "diagonal")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How to read files, and facts about them.

    `rows` is the key under which a JSON file has its rows; `deep` means that they are nested
    deeper; `together` rows make one item; with `by_place`, columns are named by their numbers.
    `true` is a rule (`first` caption or image, `diagonal`), cells (`0:0, 0:1`, image and caption),
    or columns: one with the number, letter or text of the true option, or one per cell that says
    yes or no, with a row of them per image (`a,b;c,d`). `each` lists variants of the layout; a row
    yields one item for each variant whose column `has` it contains. `where` keeps only the rows
    with these values.
    """

    name: str = "table"
    about: str = ""
    page: str = ""
    source: str = ""
    licence: str = "unknown"
    citation: str = ""
    verified: str = ""
    endings: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    chance: Mapping[str, float | str] = field(default_factory=dict)
    rows: str = ""
    deep: bool = False
    together: int = 1
    by_place: bool = False
    where: Mapping[str, str] = field(default_factory=dict)
    has: str = ""
    each: tuple[Layout, ...] = ()
    images: tuple[str, ...] = ()
    captions: tuple[str, ...] = ()
    true: str = ""
    counts_from: int = 0
    original: bool | None = None
    coco: bool = False
    box: tuple[str, ...] = ()
    first_of_lists: bool = False
    id: str = ""
    kind: str = ""
    kinds: Mapping[str, str] = field(default_factory=dict)
    kind_flags: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    votes: Votes | None = None

    def check(self, where: str) -> None:
        """Raise if the layout is invalid."""
        for part in self.each or (self,):
            for name in ("images", "captions"):
                if not getattr(part, name):
                    raise BadInput(
                        f"no columns are given for the {name}",
                        where=where,
                        allowed=f"--{name}-columns A,B, or `{name}: [A, B]` in a layout",
                    )
            if part.box and len(part.box) != 4:
                raise BadInput(
                    f"a box of {len(part.box)} columns", where=where, allowed="x, y, width, height"
                )
        if self.together < 1:
            raise BadInput(f"together: {self.together}", where=where, allowed="1 or more")

    def columns(self) -> list[str]:
        """The columns of a table to read, both required and optional ones."""
        found: dict[str, None] = {}
        for part in (self, *self.each):
            truth = [] if part.true in RULES or CELLS.fullmatch(part.true) else part.truth_columns()
            texts: Iterable[str] = (
                *part.images, *part.captions, *part.box, *part.notes, *part.where,
                *part.kind_flags, part.has, part.id or "", *(c for row in truth for c in row),
            )  # fmt: skip
            for text in (*texts, *BRACES.findall(part.kind)):
                for name in BRACES.findall(text) or [text]:
                    for one in name.split("|"):
                        plain = one.removesuffix("?").removesuffix(":folder")
                        found |= {plain: None, plain.partition(".")[0]: None}
            if part.votes:
                found[part.votes.column] = None
        return [name for name in found if name and not name.startswith("@")]

    def truth_columns(self) -> list[list[str]]:
        """The columns that say what is true, one list per image."""
        rows = [row.split(",") for row in self.true.split(";")]
        return [[name.strip() for name in row if name.strip()] for row in rows]


def layout_of(data: Any, where: str, base: Layout | None = None) -> Layout:
    """The layout in parsed YAML; errors name what is wrong with it."""
    if not isinstance(data, dict):
        raise BadInput(f"a layout is {kind_of(data)}", where=where, allowed="keys and values")
    known = {one.name for one in fields(Layout)}
    values: dict[str, Any] = {}
    for given, value in data.items():
        key = "true" if given is True else given  # YAML reads the key `true` as a boolean
        if key not in known:
            error = UnknownName("key of a layout", str(key), known)
            error.where = where
            raise error
        values[key] = _value(key, value, where)
    each = values.pop("each", None)
    layout = replace(base or Layout(), **values)
    if each is None:
        return layout
    return replace(layout, each=tuple(layout_of(one, where, layout) for one in each))


def _texts(value: Any) -> tuple[str, ...] | None:
    listed = value if isinstance(value, list) else [value]
    plain = all(isinstance(one, str | int) and not isinstance(one, bool) for one in listed)
    return tuple(map(str, listed)) if plain else None


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str) or type(value) is int else None


def _pairs(value: Any) -> dict[str, Any] | None:
    return {str(k): one for k, one in value.items()} if isinstance(value, dict) else None


def _names(value: Any) -> dict[str, str] | None:
    names = {key: _text(one) for key, one in (_pairs(value) or {}).items()}
    plain = {key: one for key, one in names.items() if one is not None}
    return plain if isinstance(value, dict) and len(plain) == len(names) else None


def _votes(value: Any) -> Votes | None:
    known = {one.name for one in fields(Votes)}
    return Votes(**value) if isinstance(value, dict) and known >= set(value) else None


SORTS: tuple[tuple[tuple[str, ...], Callable[[Any], Any], str], ...] = (
    (("endings", "measures", "images", "captions", "box", "notes"), _texts, "text, or a list"),
    (("chance", "where"), _pairs, "keys with values"),
    (("kinds", "kind_flags"), _names, "keys with texts"),
    (("deep", "by_place", "coco", "original", "first_of_lists"),
     lambda value: value if isinstance(value, bool) else None, "true or false"),
    (("together", "counts_from"),
     lambda value: value if type(value) is int and value >= 0 else None, "a whole number"),
    (("each",), lambda value: value if isinstance(value, list) else None, "a list of layouts"),
    (("votes",), _votes, "column, caption, foil, other, enough"),
)  # fmt: skip
"""Keys of a layout that are not plain text: how to read them, and what is allowed."""


def _value(key: str, value: Any, where: str) -> Any:
    """A value of a layout, converted to its type."""
    sort = next((one for one in SORTS if key in one[0]), ((), _text, "text"))
    found = sort[1](value)
    if found is None:
        raise BadInput(f'"{key}" of a layout is {kind_of(value)}', where=where, allowed=sort[2])
    return found


def read_layout(path: Path) -> Layout:
    """The layout in a YAML file."""
    from tellapart.yaml_files import read_yaml

    layout = layout_of(read_yaml(path), str(path), Layout(name=name_of(path)))
    layout.check(str(path))
    return layout


# Values of a row


def found(row: SourceRow, path: str) -> Any:
    """A row's value under a path; None if there is none."""
    for name in path.split("|"):
        value = _at(row, name.removesuffix("?"))
        if value is not None and value != "":
            return value
    return None


def _at(row: SourceRow, path: str) -> Any:
    if path.startswith("@"):
        where = {"@file": name_of(row.file), "@folder": row.file.absolute().parent.name,
                 "@number": row.number, "@key": row.key}  # fmt: skip
        return where.get(path)
    if path in row.values:
        return row.values[path]
    value: Any = row.values
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def needed(row: SourceRow, path: str) -> Any:
    """A row's required value under a path."""
    value = found(row, path)
    if value is None:
        if _at(row, path) == "":
            raise row.wrong(path, "empty", "text")
        known = ", ".join(map(str, row.values)) or "none"
        raise BadInput(f'{row.title} has no "{path}"', allowed=f"its keys are: {known}")
    return value


def filled(row: SourceRow, text: str) -> str:
    """A text with its braces filled from the row."""

    def part(match: re.Match[str]) -> str:
        name = match.group(1)
        folder = name.endswith(":folder")
        path = name.removesuffix(":folder")
        value = found(row, path) if path.endswith("?") else needed(row, path)
        if isinstance(value, dict | list | bytes):
            raise row.wrong(path, kind_of(value), "text or a number")
        written = "" if value is None else str(value)
        return written.partition("/")[0] if folder and "/" in written else written

    return BRACES.sub(part, text)


def listed(row: SourceRow, expression: str, *, first: bool) -> list[Any]:
    """The values of an expression in a row: one value, or a whole list (or its first)."""
    if BRACES.search(expression):
        return [filled(row, expression)]
    value = found(row, expression) if expression.endswith("?") else needed(row, expression)
    if value is None:
        return []
    if isinstance(value, str) and re.fullmatch(r"\s*\[.*\]\s*", value, re.DOTALL):
        value = _python_list(value)
    if isinstance(value, list):
        return value[:1] if first else value
    return [value]


def _python_list(text: str) -> Any:
    """A list in Python notation from a text table; the text itself if it is not a list."""
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text
    return value if isinstance(value, list) else text
