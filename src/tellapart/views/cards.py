"""Cards of a sheet's items, and one item in full: scores of its grid, origin, neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from tellapart.errors import TellapartError
from tellapart.items import Item
from tellapart.models.model import ShownQuestion
from tellapart.questions import Ask, Question, questions
from tellapart.reports.card import (
    STATE_NAMES,
    ItemCard,
    ModelRow,
    answer_of,
    letter,
)
from tellapart.reports.picks import RANKS, Reader, reader
from tellapart.score.answers import grid_scores
from tellapart.score.run import REPLY_MARK, Run
from tellapart.types import Ints
from tellapart.views.captions import CaptionSheet
from tellapart.views.sheet import Address, Contestant, Sheet

MOST_NEIGHBOURS = 12
MOST_EDITS = 40
NO_ROWS = np.zeros(0, np.int64)


def cards_of(sheet: Sheet, rows: Ints, address: Address) -> list[dict[str, Any]]:
    """The cards of some rows, as `card.js` draws them."""
    if isinstance(sheet, CaptionSheet):
        return sheet.cards(rows, address)
    items = [sheet.item(int(row)) for row in rows]
    ids = frozenset(item.id for item in items)
    readers = [_reader(one, sheet, rows, ids) for one in sheet.contestants]
    thumbnail = sheet.thumbnails(address)
    cards = []
    for row, item in zip(rows.tolist(), items, strict=True):
        asked = list(questions(item, sheet.asks))
        models = tuple(
            ModelRow(
                one.label,
                RANKS[sheet.ranks[row, k]],
                tuple(answer_of(question, read(question)) for question in asked),
                _number(sheet.margins[row, k]),
            )
            for k, (one, read) in enumerate(zip(sheet.contestants, readers, strict=True))
        )
        card = ItemCard.of(item, sheet.label, thumbnail, asked, models).to_json()
        cards.append({"place": row, **card})
    return cards


def _reader(one: Contestant, sheet: Sheet, rows: Ints, ids: frozenset[str]) -> Reader:
    """A run's answers to some items; for a run on another version, only to common items."""
    if one.places is not None:
        common = rows[one.places[rows] >= 0]
        ids = frozenset(sheet.benchmark.items.ids.gather(common))
    return reader(one.run, ids)


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(f"{value:.5g}")


def item_rows(sheet: Sheet, rows: Ints) -> pl.DataFrame:
    """Some items as a table: their content, and every run's outcome."""
    if isinstance(sheet, CaptionSheet):
        return sheet.table(rows)
    frame = sheet.benchmark.items.frame[rows]
    wide = max(frame["captions"].list.len().to_list(), default=0)
    captions = {
        f"caption {j + 1}": frame["captions"].list.get(j, null_on_oob=True) for j in range(wide)
    }
    cells = frame["true_cells"].list.eval(
        pl.element().list.eval((pl.element() + 1).cast(pl.String)).list.join(":")
    )
    names = [STATE_NAMES[state][1] for state in RANKS]
    outcomes: dict[str, Any] = {}
    for k, one in enumerate(sheet.contestants):
        outcomes[one.label] = [names[rank] for rank in sheet.ranks[rows, k].tolist()]
        if one.run.scores.height:
            margins = sheet.margins[rows, k].astype(float)
            outcomes[f"{one.label} margin"] = pl.Series(margins).fill_nan(None)
    return pl.DataFrame(
        {
            "id": frame["id"],
            "kind": frame["kind"],
            "images": frame["images"].list.join(" "),
            **captions,
            "true (picture:caption)": cells.list.join(" "),
            **outcomes,
        }
    )


def whole_item(sheet: Sheet, place: int, address: Address) -> dict[str, Any]:
    """One item with its card and all details."""
    (card,) = cards_of(sheet, np.array([place]), address)
    return {"card": card, **item_details(sheet, place, address)}


def item_details(sheet: Sheet, place: int, address: Address) -> dict[str, Any]:
    """Details of an item that are not on its card."""
    if isinstance(sheet, CaptionSheet):
        return sheet.details(place)
    item = sheet.item(place)
    origin = item.origin
    made = {
        "made by": origin.made_by, "source": origin.source, "its id there": origin.source_id,
        "seed": "" if origin.seed is None else str(origin.seed), "group": item.group,
        "content": item.content[:16], "images": ", ".join(item.images),
        **{name: str(value) for name, value in sorted(origin.notes.items())},
    }  # fmt: skip
    return {
        "true": sorted(item.true),
        "grids": [_grid(one, place, item) for one in sheet.contestants],
        "origin": {name: value for name, value in made.items() if value},
        "neighbours": _neighbours(sheet, place, address),
        "replies": [reply for one in sheet.contestants for reply in _replies(one, place, item)],
    }


def _grid(one: Contestant, place: int, item: Item) -> dict[str, Any]:
    """The scores of an item's cells, one row per image, and of its edits, highest first."""
    run = one.run
    place = place if one.places is None else int(one.places[place])
    if place < 0 or not run.scores.height:
        return {"label": one.label, "cells": None, "edits": []}
    flat, begins = grid_scores(run)
    cells = flat[begins[place] : begins[place + 1]].reshape(len(item.images), -1)
    known = [[None if np.isnan(x) else float(x) for x in row] for row in cells]
    edited = edit_rows(run)
    rows = edited.of(place).select("image", "caption", "edit", "score").rows() if edited.any else ()
    edits = [[edit, letter(image), caption + 1, score] for image, caption, edit, score in rows]
    edits.sort(key=lambda one: -float(one[3]))
    return {
        "label": one.label,
        "cells": known if np.isfinite(cells).any() else None,
        "edits": edits[:MOST_EDITS],
    }


@dataclass(frozen=True, slots=True)
class RowsByItem:
    """A table sorted by item, with the index of each row's item."""

    table: pl.DataFrame
    place: Ints

    @classmethod
    def made(cls, run: Run, table: pl.DataFrame) -> RowsByItem:
        """Sort a table of a run by the benchmark's items."""
        place = run.benchmark.items.places_of(table["item"]) if table.height else NO_ROWS
        order = np.argsort(place, kind="stable")
        return cls(table[order], place[order])

    @property
    def any(self) -> bool:
        """Whether there are rows at all."""
        return len(self.place) > 0

    def of(self, place: int) -> pl.DataFrame:
        """The rows of one item."""
        first, last = np.searchsorted(self.place, [place, place + 1])
        return self.table[int(first) : int(last)]


@lru_cache(maxsize=64)
def edit_rows(run: Run) -> RowsByItem:
    """The scores of captions with a word removed or inserted, by item."""
    return RowsByItem.made(run, run.scores.filter(pl.col("edit") != ""))


@lru_cache(maxsize=64)
def answer_rows(run: Run) -> RowsByItem:
    """The answers of a chooser, by item."""
    return RowsByItem.made(run, run.answers)


def _neighbours(sheet: Sheet, place: int, address: Address) -> list[dict[str, Any]]:
    """Items of the same group, and what they share with this one."""
    frame = sheet.benchmark.items.frame
    same = np.flatnonzero(sheet.groups == sheet.groups[place])
    same = same[same != place]
    item = sheet.item(place)
    found = []
    for row in same.tolist():
        images, captions = frame["images"][row].to_list(), frame["captions"][row].to_list()
        shares = "same image" if set(images) & set(item.images) else "same group"
        shares = "same pair" if set(images) == set(item.images) and len(images) > 1 else shares
        shares = "same captions" if set(captions) == set(item.captions) else shares
        known = [
            sheet.benchmark.images.place_of(one) for one in images if one in sheet.benchmark.images
        ]
        found.append(
            {
                "place": row,
                "id": frame["id"][row],
                "kind": frame["kind"][row],
                "shares": shares,
                "captions": captions[:4],
                "pictures": [address(one) for one in known[:2]],
            }
        )
        if len(found) == MOST_NEIGHBOURS:
            break
    return found


def _replies(one: Contestant, place: int, item: Item) -> list[dict[str, Any]]:
    """A chooser's prompts and replies, trial by trial."""
    run, label = one.run, one.label
    place = place if one.places is None else int(one.places[place])
    if run.card.kind != "chooser" or place < 0:
        return []
    by_id = {
        one.id: one for one in questions(item, frozenset(map(Ask, run.card.asks)) or frozenset(Ask))
    }
    found = []
    for row in answer_rows(run).of(place).iter_rows(named=True):
        why, mark, said = (row["reply"] or "").partition(REPLY_MARK)
        failed = row["status"] != "answered"
        found.append(
            {
                "label": label,
                "question": row["question"],
                "trial": row["trial"],
                "prompt": _prompt(run, by_id.get(row["question"]), row),
                "reply": said if failed and mark else "" if failed else row["reply"] or "",
                "failure": why if failed else "",
                "order": row["order"],
                "choice": row["choice"],
            }
        )
    return found


def _prompt(run: Run, question: Question | None, row: dict[str, Any]) -> list[str]:
    """The texts of a chat model's prompt, as its adapter writes them."""
    if question is None or not run.model.startswith("chat:"):
        return []
    from tellapart.models.chat import prompt_of

    pictures = run.benchmark.pictures(question.item)
    shown = ShownQuestion(question, pictures, tuple(row["order"]), row["trial"])
    try:
        return [
            part if isinstance(part, str) else f"[picture {part.id}]"
            for part in prompt_of(shown).parts
        ]
    except (TellapartError, IndexError, KeyError):
        return []
