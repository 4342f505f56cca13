"""Items as rows of a Parquet table, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

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


def to_frame(items: Iterable[Item]) -> pl.DataFrame:
    """One row an item."""
    return pl.DataFrame([_row(item) for item in items], schema=ITEM_COLUMNS, orient="row")


def _row(item: Item) -> tuple[Any, ...]:
    slot = item.slot and {
        "caption": item.slot.caption,
        "start": item.slot.start,
        "end": item.slot.end,
        "target": item.slot.target,
        "foil": item.slot.foil,
        "plural": item.slot.plural,
        "words": [{"start": w.start, "end": w.end, "noun": w.noun} for w in item.slot.words],
        "candidates": list(item.slot.candidates),
    }
    origin = {
        "made_by": item.origin.made_by,
        "source": item.origin.source,
        "source_id": item.origin.source_id,
        "seed": item.origin.seed,
        "notes": json.dumps(dict(item.origin.notes), ensure_ascii=False, sort_keys=True),
    }
    true = [list(cell) for cell in sorted(item.true)]
    original = None if item.original is None else list(item.original)
    return (
        item.id, item.content, item.kind, item.group, list(item.images), list(item.captions),
        true, original, slot, origin,
    )  # fmt: skip


def from_frame(frame: pl.DataFrame) -> list[Item]:
    """The items of a table."""
    return [_item(row) for row in frame.select(list(ITEM_COLUMNS)).iter_rows()]


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
            json.loads(origin["notes"] or "{}"),
        ),
        original=None if original is None else (original[0], original[1]),
        slot=None if slot is None or slot["caption"] is None else _slot(slot),
        group=group,
        content=content,
    )  # fmt: skip


def _slot(slot: dict[str, Any]) -> Slot:
    return Slot(
        slot["caption"], slot["start"], slot["end"], slot["target"], slot["foil"], slot["plural"],
        tuple(Word(w["start"], w["end"], w["noun"]) for w in slot["words"]),
        tuple(slot["candidates"]),
    )  # fmt: skip
