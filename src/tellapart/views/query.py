"""A query: which items of a sheet to show, in which order; it is part of the page's address.

Its parameters are `sheet`, `a` and `b` (runs), `ao` and `bo` (letters of outcomes, such as `w` or
`rt`), `fact.NAME` (one or more values), `q` with `in` (where to search), `starred`, `noted` and
`sort`.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qsl

import numpy as np
import polars as pl

from tellapart.errors import BadInput, UnknownName
from tellapart.reports.picks import RANKS, State
from tellapart.types import Bools, Ints
from tellapart.views.sheet import Sheet

FACT = "fact."
MOST_TEXT = 500
_RIGHT, _UNASKED = RANKS.index(State.RIGHT), RANKS.index(State.UNASKED)


@dataclass(frozen=True, slots=True)
class Query:
    """A query on a sheet; runs are given by name, or empty if none is chosen."""

    sheet: str = ""
    a: str = ""
    b: str = ""
    a_states: str = ""
    b_states: str = ""
    facts: tuple[tuple[str, frozenset[str]], ...] = ()
    text: str = ""
    inside: str = "captions"
    starred: bool = False
    noted: bool = False
    sort: str = "order"

    @classmethod
    def of(cls, pairs: list[tuple[str, str]]) -> Query:
        """A query from the parameters of an address; unknown ones are ignored."""
        given = dict(pairs)
        facts: dict[str, set[str]] = {}
        for key, value in pairs:
            if key.startswith(FACT):
                facts.setdefault(key.removeprefix(FACT), set()).add(value)
        for states in (given.get("ao", ""), given.get("bo", "")):
            if not set(states) <= set(State):
                raise BadInput(f"the outcomes {states!r}", allowed=", ".join(State))
        text = given.get("q", "")
        if len(text) > MOST_TEXT:
            raise BadInput("the search text is too long", allowed=f"{MOST_TEXT} characters")
        return cls(
            sheet=given.get("sheet", ""), a=given.get("a", ""), b=given.get("b", ""),
            a_states=given.get("ao", ""), b_states=given.get("bo", ""),
            facts=tuple((name, frozenset(values)) for name, values in sorted(facts.items())),
            text=text, inside=given.get("in", "captions"), starred=given.get("starred") == "1",
            noted=given.get("noted") == "1", sort=given.get("sort", "order"),
        )  # fmt: skip

    @classmethod
    def at(cls, address: str) -> Query:
        """A query from the part after the # of an address: `items?sheet=...&ao=w`."""
        return cls.of(parse_qsl(address.partition("?")[2], keep_blank_values=True))


def matching(
    query: Query, sheet: Sheet, starred: frozenset[str] = frozenset(),
    noted: frozenset[str] = frozenset(),
) -> Bools:  # fmt: skip
    """Which items of the sheet match a query."""
    keep = np.ones(len(sheet), bool)
    for label, states in ((query.a, query.a_states), (query.b, query.b_states)):
        if states and label:
            wanted = [RANKS.index(State(one)) for one in states]
            keep &= np.isin(sheet.ranks[:, column(sheet, label)], wanted)
    for name, values in query.facts:
        if name not in sheet.facts:
            raise UnknownName(f"fact of {sheet.label}", name, sheet.facts)
        fact = sheet.facts[name]
        codes = [k for k, value in enumerate(fact.names) if value in values]
        keep &= np.isin(fact.code, codes)
    for marked, ids in ((query.starred, starred), (query.noted, noted)):
        if marked:
            keep &= sheet.benchmark.items.ids.is_in(list(ids)).to_numpy()
    if query.text.strip():
        keep &= _found(query, sheet)
    return keep


def _found(query: Query, sheet: Sheet) -> Bools:
    """Items that contain all the words; a quoted phrase counts as one word."""
    column = sheet.searched(query.inside)
    keep = np.ones(len(sheet), bool)
    for k, part in enumerate(query.text.lower().split('"')):
        words = [part] if k % 2 else part.split()
        for word in filter(None, words):
            sought = f" {word} " if query.inside == "changed" and k % 2 else word
            keep &= column.str.contains(sought, literal=True).to_numpy()
    return keep


def ordered(query: Query, sheet: Sheet, rows: Ints) -> Ints:
    """Rows in the query's order; ties keep the benchmark's order."""
    if query.sort == "order" or not sheet.contestants:
        return rows
    if query.sort == "spread":
        scores = sheet.margins[rows]
        return rows[np.argsort(scores.min(axis=1) - scores.max(axis=1), kind="stable")]
    if query.sort in ("wrong", "right", "disagreement"):
        ranks = sheet.ranks[rows]
        right = (ranks == _RIGHT).sum(axis=1)
        wrong = ((ranks != _RIGHT) & (ranks != _UNASKED)).sum(axis=1)
        key = {"wrong": -wrong, "right": -right}.get(query.sort, -np.minimum(right, wrong))
        return rows[np.argsort(key, kind="stable")]
    margin = sheet.margins[rows, column(sheet, query.a)]
    if query.sort == "gap":
        margin = margin - sheet.margins[rows, column(sheet, query.b)]
    key = {"margin-high": -margin, "close": np.abs(margin)}.get(query.sort, margin)
    return rows[np.argsort(key, kind="stable")]  # items without a margin (NaN) come last


def column(sheet: Sheet, label: str) -> int:
    """The column of a run; without a name, the first one."""
    place = sheet.place_of(label) if label else (0 if sheet.contestants else None)
    if place is None:
        raise UnknownName(f"run on {sheet.label}", label, sheet.labels)
    return place


def selected(
    query: Query, sheet: Sheet, starred: frozenset[str] = frozenset(),
    noted: frozenset[str] = frozenset(),
) -> Ints:  # fmt: skip
    """The rows that match a query, in its order."""
    if query.sort not in sheet.sorts:
        raise UnknownName("sort", query.sort, sheet.sorts)
    if query.inside not in sheet.places:
        raise UnknownName("place to search", query.inside, sheet.places)
    rows = np.flatnonzero(matching(query, sheet, starred, noted))
    return ordered(query, sheet, rows)


def ids_of(sheet: Sheet, rows: Ints) -> pl.Series:
    """The ids of some rows."""
    return sheet.benchmark.items.ids.gather(rows)
