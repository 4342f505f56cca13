"""Items as rows of a Parquet table, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.errors import BadInput
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

FILLED = ("id", "content", "kind", "group", "images", "captions", "true_cells", "origin")
"""The columns that have a value in every row."""


def to_frame(items: Iterable[Item]) -> pl.DataFrame:
    """One row an item."""
    rows = list(items)
    columns: dict[str, list[Any]] = {
        "id": [item.id for item in rows],
        "content": [item.content for item in rows],
        "kind": [item.kind for item in rows],
        "group": [item.group for item in rows],
        "images": [item.images for item in rows],
        "captions": [item.captions for item in rows],
        "true_cells": [sorted(item.true) for item in rows],
        "original": [item.original for item in rows],
        "slot": [item.slot and _slot_fields(item.slot) for item in rows],
        "origin": [_origin_fields(item.origin) for item in rows],
    }
    return pl.DataFrame([pl.Series(n, columns[n], kind) for n, kind in ITEM_COLUMNS.items()])


def _slot_fields(slot: Slot) -> dict[str, Any]:
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


def _origin_fields(origin: Origin) -> dict[str, Any]:
    notes = dict(origin.notes)
    return {
        "made_by": origin.made_by,
        "source": origin.source,
        "source_id": origin.source_id,
        "seed": origin.seed,
        "notes": json.dumps(notes, ensure_ascii=False, sort_keys=True) if notes else "{}",
    }


def from_frame(frame: pl.DataFrame, folder: Path) -> list[Item]:
    """The items of a table that has the columns in their types."""
    items: list[Item] = []
    try:
        for row in frame.iter_rows():
            items.append(_item(row))
    except (TypeError, ValueError, IndexError, RecursionError) as error:
        raise BadInput(
            f"row {len(items) + 1} of items.parquet is no item: {error}",
            where=str(folder / "items.parquet"),
            allowed="rows as tellapart wrote them",
            todo="build or import the benchmark again",
        ) from None
    return items


def _item(row: tuple[Any, ...]) -> Item:
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
        raise TypeError("its notes are no object")
    return notes


def _slot(slot: dict[str, Any]) -> Slot:
    return Slot(
        slot["caption"], slot["start"], slot["end"], slot["target"], slot["foil"], slot["plural"],
        tuple(Word(w["start"], w["end"], w["noun"]) for w in slot["words"]),
        tuple(slot["candidates"]),
    )  # fmt: skip
