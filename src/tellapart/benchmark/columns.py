"""The columns of items: converting an `Item` to a row of `items.parquet` and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tellapart.items import Item, Origin, Slot, Word

ITEM_COLUMNS: dict[str, Any] = {
    "id": pl.String,
    "content": pl.String,
    "kind": pl.String,
    "group": pl.String,
    "images": pl.List(pl.String),
    "captions": pl.List(pl.String),
    "true_cells": pl.List(pl.List(pl.Int32)),
    "original": pl.List(pl.Int32),
    "slot": pl.Struct(
        {
            "caption": pl.Int32,
            "start": pl.Int32,
            "end": pl.Int32,
            "target": pl.String,
            "foil": pl.String,
            "plural": pl.Boolean,
            "words": pl.List(pl.Struct({"start": pl.Int32, "end": pl.Int32, "noun": pl.Boolean})),
            "candidates": pl.List(pl.String),
        }
    ),
    "origin": pl.Struct(
        {
            "made_by": pl.String,
            "source": pl.String,
            "source_id": pl.String,
            "seed": pl.Int64,
            "notes": pl.String,
        }
    ),
}

COLUMN_TYPES = {**ITEM_COLUMNS, **ITEM_COLUMNS["origin"].to_schema()}
"""The types of the columns, and of the fields of the origin."""

BLANK = {"content": "", "group": "", "original": None, "slot": None, "seed": None}
"""Values of omitted columns; contents and groups are computed later, for whole columns."""

_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True)
FILLED = ("id", "content", "kind", "group", "images", "captions", "true_cells", "origin")
"""The columns that need a value in every row."""


def frame_of(items: Iterable[Item]) -> pl.DataFrame:
    """One row per item."""
    rows = list(items)
    return item_frame(
        plain_frame(
            {
                "id": [item.id for item in rows],
                "content": [item.content for item in rows],
                "kind": [item.kind for item in rows],
                "group": [item.group for item in rows],
                "images": [item.images for item in rows],
                "captions": [item.captions for item in rows],
                "true_cells": [tuple(sorted(item.true)) for item in rows],
                "original": [item.original for item in rows],
                "slot": [item.slot and slot_fields(item.slot) for item in rows],
                "made_by": [item.origin.made_by for item in rows],
                "source": [item.origin.source for item in rows],
                "source_id": [item.origin.source_id for item in rows],
                "seed": [item.origin.seed for item in rows],
                "notes": [notes_text(item.origin.notes) for item in rows],
            }
        )
    )


def plain_frame(columns: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    """Columns of items, with the origin's fields as columns of their own."""
    series = []
    for name, values in columns.items():
        if name in ("images", "captions"):
            series.append(_text_lists(name, values))
        elif name in ("true_cells", "original"):
            series.append(_repeated(name, values))
        else:
            series.append(pl.Series(name, values, COLUMN_TYPES[name]))
    return pl.DataFrame(series)


def item_frame(plain: pl.DataFrame) -> pl.DataFrame:
    """One row per item, from plain columns; columns in `BLANK` may be omitted."""
    blank = {
        name: pl.lit(value).cast(COLUMN_TYPES[name])
        for name, value in BLANK.items()
        if name not in plain.columns
    }
    origin = pl.struct(list(ITEM_COLUMNS["origin"].to_schema()))
    return plain.with_columns(**blank).with_columns(origin=origin).select(list(ITEM_COLUMNS))


def _text_lists(name: str, lists: Sequence[Sequence[str]]) -> pl.Series:
    """A column of lists of texts; given lists, Polars would slowly make a series of each."""
    sizes = np.fromiter(map(len, lists), np.int64, len(lists))
    texts = pl.Series(name, [text for texts in lists for text in texts], pl.String)
    owner = pl.Series("owner", np.repeat(np.arange(len(lists)), sizes))
    grouped = pl.DataFrame([owner, texts]).group_by("owner", maintain_order=True).agg(name)
    if grouped.height == len(lists):
        return grouped[name]
    return pl.Series(name, [list(texts) for texts in lists], pl.List(pl.String))


def _repeated(name: str, values: Sequence[Any]) -> pl.Series:
    """A column with few distinct values, each of which is passed to Polars once."""
    numbers = {value: k for k, value in enumerate(dict.fromkeys(values))}
    distinct = pl.Series(name, list(numbers), ITEM_COLUMNS[name])
    return distinct.gather([numbers[value] for value in values])


def slot_fields(slot: Slot) -> dict[str, Any]:
    """A slot as stored in the column."""
    return {
        "caption": slot.caption,
        "start": slot.start,
        "end": slot.end,
        "target": slot.target,
        "foil": slot.foil,
        "plural": slot.plural,
        "words": [{"start": w.start, "end": w.end, "noun": w.noun} for w in slot.words],
        "candidates": list(slot.candidates),
    }


def notes_text(notes: Mapping[str, str]) -> str:
    """Notes as stored in the column."""
    return _ENCODER.encode(dict(notes)) if notes else "{}"


def item_of(row: tuple[Any, ...]) -> Item:
    """The item of a row."""
    item_id, content, kind, group, images, captions, true, original, slot, origin = row
    return Item(
        id=item_id,
        images=tuple(images),
        captions=tuple(captions),
        true=frozenset((i, j) for i, j in true),
        kind=kind,
        origin=Origin(
            origin["made_by"], origin["source"], origin["source_id"], origin["seed"],
            _notes(origin["notes"]),
        ),
        original=None if original is None else (original[0], original[1]),
        slot=None if slot is None or slot["caption"] is None else _slot(slot),
        group=group,
        content=content,
    )  # fmt: skip


def _notes(text: str | None) -> dict[str, str]:
    notes = json.loads(text or "{}")
    if not isinstance(notes, dict):
        raise TypeError("its notes are not an object")
    return notes


def _slot(slot: dict[str, Any]) -> Slot:
    return Slot(
        slot["caption"], slot["start"], slot["end"], slot["target"], slot["foil"], slot["plural"],
        tuple(Word(w["start"], w["end"], w["noun"]) for w in slot["words"]),
        tuple(slot["candidates"]),
    )  # fmt: skip
