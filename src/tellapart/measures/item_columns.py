"""Properties of items: the columns by which outcomes are broken down.

Every benchmark has `COLUMNS`; the notes of an importer or builder are columns, too, and so is each
column of a user's table that names items by their ids.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.items import KINDS
from tellapart.questions import Ask
from tellapart.score.answers import asked_questions
from tellapart.types import Ints

EDITS = {kind: kind.partition("-")[0] for kind in KINDS}
"""SugarCrepe and BiVLC: replace, swap and add (Hsieh et al. 2023, table 1; Miranda et al. 2024,
table 6)."""

PIECES = {
    "existence": "existence",
    "plurals": "plurality",
    "counting": "counting",
    "relations": "spatial relations",
    "actions": "actions",
    "coreference": "coreference",
    "noun-phrases": "foil-it",
}
"""VALSE's pieces by their names in its files (Parcalabescu et al. 2022, section 3)."""

SYMMETRIC = frozenset(
    """adjusting|attached to|between|bigger than|biting|boarding|brushing|chewing|cleaning|climbing
    |close to|coming from|coming out of|contain|crossing|dragging|draped over|drinking
    |drinking from|driving|driving down|driving on|eating from|eating in|enclosing|exiting|facing
    |filled with|floating in|floating on|flying|flying above|flying in|flying over|flying through
    |full of|going down|going into|going through|grazing in|growing in|growing on|guiding
    |hanging from|hanging in|hanging off|hanging over|higher than|holding onto|hugging|in between
    |jumping off|jumping on|jumping over|kept in|larger than|leading|leaning over|leaving|licking
    |longer than|looking in|looking into|looking out|looking over|looking through|lying next to
    |lying on top of|making|mixed with|mounted on|moving|on the back of|on the edge of
    |on the front of|on the other side of|opening|painted on|parked at|parked beside|parked by
    |parked in|parked in front of|parked near|parked next to|perched on|petting|piled on|playing
    |playing in|playing on|playing with|pouring|reaching for|reading|reflected on|riding on
    |running in|running on|running through|seen through|sitting behind|sitting beside|sitting by
    |sitting in front of|sitting near|sitting next to|sitting under|skiing down|skiing on
    |sleeping in|sleeping on|smiling at|sniffing|splashing|sprinkled on|stacked on
    |standing against|standing around|standing behind|standing beside|standing in front of
    |standing near|standing next to|staring at|stuck in|surrounding|swimming in|swinging
    |talking to|topped with|touching|traveling down|traveling on|tying|typing on|underneath
    |wading in|waiting for|walking across|walking by|walking down|walking next to
    |walking through|working in|working on|worn on|wrapped around|wrapped in|by|of|near|next to
    |with|beside|on the side of|around""".replace("\n    ", "").split("|")
)
"""ARO: relations that its authors leave out of their macro accuracy as symmetric or rare
(notebook "Replicate ARO! VG-Relation, VG-Attribution")."""

APART = " (symmetric)"


def family_of(kind: str, notes: Mapping[str, str]) -> str:
    """The family of an item, from its kind and its importer's notes; else the kind itself.

    >>> family_of("swap-object", {}), family_of("aro-relation", {"relation_name": "near"})
    ('swap', 'near (symmetric)')
    """
    if "family" in notes:
        return notes["family"]
    if kind == "aro-relation" and "relation_name" in notes:
        relation = notes["relation_name"]
        return f"{relation}{APART}" if relation in SYMMETRIC else relation
    if kind == "aro-attribution" and "attributes" in notes:
        return str(notes["attributes"])
    return EDITS.get(kind) or PIECES.get(kind) or kind


def is_apart(family: str) -> bool:
    """Whether a family stays out of the macro average, as in its authors' figures.

    >>> is_apart("near (symmetric)"), is_apart("on")
    (True, False)
    """
    return family.endswith(APART)


COLUMNS = {
    "kind": "the kind of item, as its benchmark names it",
    "family": "what its paper groups kinds by: replace, swap, add; VALSE's pieces; ARO's relations",
    "group": "the group of items that share images",
    "target": "FOIL: the word that was replaced",
    "foil": "FOIL: the word that replaces it",
    "pair": "FOIL: target and foil",
    "supercategory": "FOIL: the supercategory of the two",
    "caption_length": "words in the caption that is true (the first, if there are several)",
    "foil_position": "FOIL: which word of its caption the foil is, from 1",
    "right_place": "the place of the right option, from 1",
    "options": "how many options the question has",
}
"""The columns of every benchmark; a value is null if an item has none."""

NO_VALUE = "(none)"
MOST_NUMBERS = 10
"""A column with more distinct numbers than this is broken down by quartiles."""

WORD = r"\S+"


@dataclass(frozen=True, slots=True)
class Breakdown:
    """Items by the values of a column: the values' names, and the code of each item's value.

    Values in `apart` have their own row and stay out of the macro average.
    """

    column: str
    names: tuple[str, ...]
    code: Ints
    apart: frozenset[str] = frozenset()

    @property
    def has_values(self) -> bool:
        """Whether any item has a value."""
        return self.names != (NO_VALUE,)

    @classmethod
    def of(cls, column: str, values: pl.Series) -> Breakdown:
        """A breakdown by values of any type; many distinct numbers become four ranges."""
        if values.dtype.is_numeric() and values.drop_nulls().n_unique() > MOST_NUMBERS:
            return cls._of_ranges(column, values.cast(pl.Float64))
        distinct = values.drop_nulls().unique().sort().to_list()
        names = [_number(v) if values.dtype.is_numeric() else str(v) for v in distinct]
        place: dict[Any, int] = {value: k for k, value in enumerate(distinct)}
        if values.null_count():
            place[None] = len(names)
            names.append(NO_VALUE)
        code = np.array([place[value] for value in values], np.int64)
        apart = {name for name in names if column == "family" and is_apart(name)}
        return cls(column, tuple(names), code, frozenset(apart | ({NO_VALUE} & set(names))))

    @classmethod
    def _of_ranges(cls, column: str, values: pl.Series) -> Breakdown:
        known = values.drop_nulls().to_numpy()
        ends = np.unique(np.quantile(known, [0.25, 0.5, 0.75], method="lower"))
        numbers = values.fill_null(float("nan")).to_numpy()
        bins = np.searchsorted(ends, numbers, "left")
        names: list[str] = []
        code = np.zeros(len(numbers), np.int64)
        for k in range(len(ends) + 1):
            here = (bins == k) & ~np.isnan(numbers)
            if here.any():
                code[here] = len(names)
                low, high = _number(numbers[here].min()), _number(numbers[here].max())
                names.append(low if low == high else f"{low} to {high}")
        if np.isnan(numbers).any():
            code[np.isnan(numbers)] = len(names)
            names.append(NO_VALUE)
        return cls(column, tuple(names), code, frozenset({NO_VALUE}) & set(names))


def _number(value: float) -> str:
    return f"{value:g}"


def breakdown(
    benchmark: Benchmark, column: str, own: pl.DataFrame | None, asks: frozenset[Ask]
) -> Breakdown:
    """A benchmark's items by a column: its own, a note, or one of the user's table.

    `asks` are the questions of the measure, for columns that differ between questions.
    """
    if column == "kind" and (own is None or "kind" not in own.columns):
        return Breakdown("kind", *benchmark.items.kinds)
    table = item_table(benchmark, own)
    if column in ("options", "right_place") and column not in table.columns:
        facts = question_table(benchmark, asks).group_by("item").agg(pl.col(column).first())
        table = table.with_row_index("row").join(
            facts, left_on="row", right_on="item", how="left", maintain_order="left"
        )
    if column not in table.columns:
        more = (name for name in table.columns if name not in COLUMNS and name != "item")
        raise UnknownName("column to group by", column, [*COLUMNS, *more])
    return Breakdown.of(column, table[column])


def item_table(benchmark: Benchmark, own: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row per item, in the benchmark's order: id, `COLUMNS` of items, notes, own columns."""
    items = benchmark.items
    frame = items.frame
    slot = frame["slot"].struct
    foil_caption = slot.field("caption")
    notes = [json.loads(text or "{}") for text in frame["origin"].struct.field("notes")]
    has_slot = foil_caption.is_not_null()
    first = frame["true_cells"].list.first().list.get(1, null_on_oob=True).fill_null(0)
    table = pl.DataFrame(
        {
            "item": items.ids,
            "kind": frame["kind"],
            "family": pl.Series(
                [family_of(kind, note) for kind, note in zip(frame["kind"], notes, strict=True)],
                dtype=pl.String,
            ),
            "group": frame["group"],
            "target": slot.field("target"),
            "foil": slot.field("foil").str.to_lowercase(),
            "captions": frame["captions"],
            "true_caption": first,
            "foil_caption": foil_caption,
            "start": slot.field("start"),
        }
    ).with_columns(
        pl.when(pl.Series(has_slot)).then(pl.col("target", "foil")),
        pl.col("captions").list.get("true_caption", null_on_oob=True)
        .str.count_matches(WORD).cast(pl.Int64).alias("caption_length"),
        (pl.col("captions").list.get("foil_caption", null_on_oob=True)
         .str.slice(0, "start").str.count_matches(WORD).cast(pl.Int64) + 1).alias("foil_position"),
    )  # fmt: skip
    table = table.with_columns(
        pair=pl.concat_str("target", "foil", separator="/"),
        supercategory=_supercategory(frame["kind"], notes, has_slot),
    ).drop("captions", "true_caption", "foil_caption", "start")
    table = table.hstack(_note_columns(notes, set(table.columns) | set(COLUMNS)))
    return table if own is None else _with_own(table, own, benchmark)


def _supercategory(kinds: pl.Series, notes: list[dict[str, Any]], has_slot: pl.Series) -> pl.Series:
    """The supercategory: builders of foils use it as the kind; others may have it in notes."""
    rows = zip(kinds, notes, has_slot, strict=True)
    values = [
        note.get("supercategory") or (kind if foil and kind not in KINDS else None)
        for kind, note, foil in rows
    ]
    return pl.Series(values, dtype=pl.String)


def _note_columns(notes: list[dict[str, Any]], taken: set[str]) -> pl.DataFrame:
    names = dict.fromkeys(name for note in notes for name in note if name not in taken)
    columns = {name: [_text(note.get(name)) for note in notes] for name in names}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _with_own(table: pl.DataFrame, own: pl.DataFrame, benchmark: Benchmark) -> pl.DataFrame:
    """The table with the user's columns, which replace those of the same name."""
    known = own.filter(pl.col("item").cast(pl.String).is_in(table["item"].implode()))
    if not known.height:
        raise BadInput(
            f"no row of the table names an item of {benchmark.name}",
            allowed=f"ids such as {table['item'][0]} in the column item",
        )
    twice = known.filter(known["item"].is_duplicated())
    if twice.height:
        raise BadInput(
            f"the table names {twice['item'][0]} more than once", allowed="one row per item"
        )
    names = [name for name in own.columns if name != "item"]
    typed = known.with_columns(pl.col("item").cast(pl.String), *(_typed(known[n]) for n in names))
    return table.drop(names, strict=False).join(typed, on="item", how="left", maintain_order="left")


def _typed(column: pl.Series) -> pl.Series:
    """A text column as numbers if it holds only numbers: text tables have no types."""
    if column.dtype != pl.String:
        return column
    blank = column.replace("", None)
    numbers = blank.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == blank.null_count() < len(column) else column


def question_table(benchmark: Benchmark, asks: frozenset[Ask]) -> pl.DataFrame:
    """One row per question of the given types; `item` is the position of its item."""
    every = np.ones(len(benchmark.items), bool)
    parts = [
        asked_questions(benchmark.items, ask, every).select(
            pl.col("item").cast(pl.UInt32),
            pl.lit(str(ask)).alias("ask"),
            pl.col("image", "caption").cast(pl.Int32),
            pl.col("options").cast(pl.Int64),
            (pl.col("right").list.first().cast(pl.Int64) + 1).alias("right_place"),
        )
        for ask in Ask
        if ask in asks
    ]
    return pl.concat(parts)


def own_table(rows: pl.DataFrame | Mapping[str, Any]) -> pl.DataFrame:
    """A table of the user's own, which must have a column `item`."""
    table = rows if isinstance(rows, pl.DataFrame) else pl.DataFrame(rows)
    if "item" not in table.columns or table.width < 2:
        raise BadInput(
            "the table has no column item",
            where=f"it has the columns {', '.join(table.columns)}",
            allowed="a column item with the ids of items, and one or more others",
        )
    return table
