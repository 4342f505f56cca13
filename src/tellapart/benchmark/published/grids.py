"""Turns the rows of any file into grids by a layout; the measures follow from the grids.

Rows come from tables (CSV, TSV, JSONL, Parquet) and from JSON: lists of objects or of lists,
objects of either, or nested rows. An item may have any number of images and captions.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tellapart.benchmark.published.fields import SourceRow, kind_of, slug, table_rows
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.benchmark.published.layout import (
    BRACES,
    CELLS,
    Layout,
    filled,
    found,
    listed,
    needed,
    read_layout,
)
from tellapart.benchmark.published.votes import confirmed_words
from tellapart.corpus.reader import name_of
from tellapart.errors import BadInput
from tellapart.files import TABLE_KINDS, read_json, read_table, suffix
from tellapart.items import Cell

YES = ("yes", "true", "1", "1.0", "right", "correct", "a")
NO = ("no", "false", "0", "0.0", "wrong", "b")
SIDES = ("Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")


# Rows


def layout_rows(file: Path, layout: Layout) -> Iterator[SourceRow]:
    """The rows of a file, with their values by name (or by number, if a row is a list)."""
    rows = _single_rows(file, layout)
    if layout.together == 1:
        yield from rows
        return
    group: list[SourceRow] = []
    for row in rows:
        group.append(row)
        if len(group) == layout.together:
            values = {str(k): one.values for k, one in enumerate(group)}
            yield SourceRow(values, file, group[0].number)
            group = []
    if group:
        raise BadInput(
            f"{file.name} ends with {len(group)} rows, too few for an item",
            where=str(file),
            allowed=f"{layout.together} rows per item",
        )


def _single_rows(file: Path, layout: Layout) -> Iterator[SourceRow]:
    if suffix(file) not in TABLE_KINDS:
        yield from _json_rows(file, layout)
    elif layout.by_place:
        for number, values in enumerate(read_table(file).iter_rows()):
            yield SourceRow({str(k): value for k, value in enumerate(values)}, file, number)
    else:
        yield from table_rows(file, (), layout.columns())


def _json_rows(file: Path, layout: Layout) -> Iterator[SourceRow]:
    data = read_json(file)
    if layout.rows:
        if not isinstance(data, dict) or layout.rows not in data:
            known = ", ".join(map(str, data)) if isinstance(data, dict) else kind_of(data)
            raise BadInput(f'{file.name} has no "{layout.rows}"', where=str(file), allowed=known)
        data = data[layout.rows]
    if not isinstance(data, dict | list):
        raise BadInput(
            f"{file.name} contains {kind_of(data)}",
            where=str(file),
            allowed="rows in a list or by key",
        )
    pairs = _deep(data, "", layout) if layout.deep else _entries(data)
    for number, (key, value) in enumerate(pairs):
        yield SourceRow(_by_name(value), file, number, key)


def _entries(data: Any) -> Iterator[tuple[str, Any]]:
    pairs = data.items() if isinstance(data, dict) else (("", value) for value in data)
    yield from ((str(key), value) for key, value in pairs)


def _deep(data: Any, path: str, layout: Layout) -> Iterator[tuple[str, Any]]:
    """Nested rows: objects at any depth that have the first image column."""
    first = layout.images[0].partition(".")[0]
    if isinstance(data, dict) and first not in data:
        for key, value in data.items():
            yield from _deep(value, f"{path}/{key}".strip("/"), layout)
    elif isinstance(data, list):
        for place, value in enumerate(data):
            yield from _deep(value, f"{path}/{place}".strip("/"), layout)
    else:
        yield path, data


def _by_name(value: Any) -> Any:
    return {str(k): one for k, one in enumerate(value)} if isinstance(value, list) else value


# Items


@dataclass(slots=True)
class GridReader:
    """Adds the items of files to a collector, and records their shapes."""

    collector: ItemCollector
    layout: Layout
    counts: Counter[str]
    shapes: set[tuple[int, int, bool, int]]

    def read(self) -> None:
        """Read all files."""
        for file in self.collector.files:
            self.collector.each(layout_rows(file, self.layout), self._add)
        facts: dict[str, Any] = {"layout": self.layout.source or "given by hand"}
        if self.layout.chance:
            facts["chance"] = dict(self.layout.chance)
        self.collector.facts |= facts
        for name in ("rows_of_other_sorts", "rows_without_negatives"):
            if self.counts[name]:
                self.collector.facts[name] = self.counts[name]
        if self.layout.votes:
            self._record_votes()
        self.collector.measures = self.layout.measures or measures_of(self.shapes)

    def _add(self, collector: ItemCollector, row: SourceRow) -> None:
        for name, wanted in self.layout.where.items():
            if str(needed(row, name)) != str(wanted):
                self.counts["rows_of_other_sorts"] += 1
                return
        parts = [one for one in self.layout.each if not one.has or found(row, one.has) is not None]
        if self.layout.each and not parts:
            names = " nor ".join(f'"{one.has}"' for one in self.layout.each)
            raise BadInput(f"{row.title} has neither {names}")
        for part in parts or [self.layout]:
            self._add_one(row, part)

    def _add_one(self, row: SourceRow, layout: Layout) -> None:
        votes = self._votes(row)
        if votes.get("confirmed") == "no" and not self.collector.options.keep_all:
            return
        captions = self._captions(row, layout)
        if len(captions) == 1 < len(layout.captions) and len(layout.images) == 1:
            self.counts["rows_without_negatives"] += 1
            return
        box = _box(row, layout)
        images = [
            self.collector.image_in(
                row,
                str(value) if type(value) is int else value,
                name,
                coco=layout.coco,
                crop=box,
                place=place,
            )
            for name in layout.images
            for place, value in enumerate(listed(row, name, first=False))
        ]
        for options, noun in ((images, "image"), (captions, "caption")):
            if not options:
                raise BadInput(f"{row.title} has no {noun}", allowed="one or more")
        true = _true_cells(row, layout, len(images), captions)
        notes = {"box": box} if box else {}
        notes |= {k: v for name in layout.notes for k, v in _note(row, name).items()}
        square = len(images) == len(captions) > 1
        wanted = layout.original if layout.original is not None else not square
        self.collector.add_grid(
            row,
            self._id(row, layout),
            images,
            captions,
            true,
            kind=_kind(row, layout),
            notes={**notes, **votes},
            original=wanted,
        )
        self._note_shape(len(images), len(captions), true, wanted)

    def _captions(self, row: SourceRow, layout: Layout) -> list[str]:
        captions = []
        for name in layout.captions:
            for value in listed(row, name, first=layout.first_of_lists):
                if not isinstance(value, str):
                    raise row.wrong(name, kind_of(value), "text, or a list of texts")
                captions.append(SourceRow({name: value}, row.file, row.number, row.key).text(name))
        return captions

    def _id(self, row: SourceRow, layout: Layout) -> str:
        if not layout.id:
            return f"{name_of(row.file)}/{row.key or row.number + 1}"
        return filled(row, layout.id if BRACES.search(layout.id) else f"{{{layout.id}}}")

    def _note_shape(self, images: int, captions: int, true: set[Cell], original: bool) -> None:
        most = max((sum(i == k for i, _ in true) for k in range(images)), default=0)
        diagonal = images == captions and true == {(k, k) for k in range(images)}
        self.shapes.add((images, captions, diagonal and original, most if most < captions else 1))

    def _votes(self, row: SourceRow) -> dict[str, str]:
        if self.layout.votes is None:
            return {}
        notes = self.layout.votes.notes(row)
        self.counts[notes["confirmed"]] += 1
        return notes

    def _record_votes(self) -> None:
        yes, no = self.counts["yes"], self.counts["no"]
        left_out = 0 if self.collector.options.keep_all else no
        self.collector.facts |= {
            "pairs": yes + no, "confirmed": yes, "left_out_unconfirmed": left_out,
        }  # fmt: skip
        self.collector.verified = confirmed_words(yes, yes + no)


def _box(row: SourceRow, layout: Layout) -> str:
    """The part of the picture to use: left, top, width, height; empty for all of it."""
    sides = [_pixels(row, one) for one in layout.box]
    if sides and not (sides[2] and sides[3]):
        size = f"{sides[2]} x {sides[3]}"
        raise BadInput(f"the box of {row.title} is {size} pixels", allowed="1 or more")
    return ",".join(map(str, sides))


def _pixels(row: SourceRow, name: str) -> int:
    """A number of pixels; text tables may write it as 12.0."""
    value = needed(row, name)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, str):
        value = value.removesuffix(".0")
    return SourceRow({name: value}, row.file, row.number, row.key).whole(name)


def _note(row: SourceRow, name: str) -> dict[str, str]:
    return SourceRow({name: found(row, name)}, row.file).notes(name)


def _kind(row: SourceRow, layout: Layout) -> str:
    """The kind of an item: from the first flag that is set, else from the layout's text."""
    for flag, kind in layout.kind_flags.items():
        if _yes(row, flag):
            return slug(kind)
    text = filled(row, layout.kind).strip()
    return slug(layout.kinds.get(text, text)) or slug(layout.name)


# Truth


def _true_cells(row: SourceRow, layout: Layout, images: int, captions: list[str]) -> set[Cell]:
    """The cells of the grid that are true, by rule, by place or by columns."""
    rule = layout.true or ("diagonal" if images == len(captions) > 1 else "first")
    if rule == "diagonal":
        if images != len(captions):
            raise BadInput(
                f"{row.title} has {images} images and {len(captions)} captions",
                allowed="equally many of both; each caption is true of the image with its number",
            )
        return {(k, k) for k in range(images)}
    if rule == "first":
        return {(0, 0)} if images == 1 else {(0, j) for j in range(len(captions))}
    if CELLS.fullmatch(rule):
        cells = [tuple(map(int, cell.split(":"))) for cell in rule.split(",")]
        outside = [c for c in cells if c[0] >= images or c[1] >= len(captions)]
        if outside:
            raise BadInput(
                f"{row.title} has no cell {outside[0][0]}:{outside[0][1]}",
                allowed=f"{images} images x {len(captions)} captions",
            )
        return {(i, j) for i, j in cells}
    columns = layout.truth_columns()
    if len(columns) == 1 and len(columns[0]) == 1 and images * len(captions) > 1:
        return _placed(row, columns[0][0], layout.counts_from, images, captions)
    if len(columns) != images or any(len(one) != len(captions) for one in columns):
        raise BadInput(
            f"{row.title} has {images} images and {len(captions)} captions, but --true has "
            f"{' and '.join(str(len(one)) for one in columns)} columns",
            allowed="one column per caption, and one such list per image, separated by ;",
        )
    return {
        (i, j) for i, names in enumerate(columns) for j, name in enumerate(names) if _yes(row, name)
    }


LONGEST_PLACE = 12
"""A place has fewer characters than this: Python refuses to read numbers of thousands of digits."""


def _placed(
    row: SourceRow, column: str, counts_from: int, images: int, captions: list[str]
) -> set[Cell]:
    """The cell that a column names by number, letter or the caption's text."""
    value = needed(row, column)
    text = str(value).strip()
    options = len(captions) if images == 1 else images
    if images > 1 and len(captions) > 1:
        raise BadInput(
            f'"{column}" cannot say what is true of {images} images and {len(captions)} captions',
            allowed="one image with captions, or one caption with images; else one column per cell",
        )
    trimmed = [caption.strip() for caption in captions]
    if images == 1 and text in trimmed:
        place = trimmed.index(text)
    elif len(text) == 1 and text.upper() in string.ascii_uppercase:
        place = string.ascii_uppercase.index(text.upper())
    elif len(text) < LONGEST_PLACE and text.removesuffix(".0").isdecimal():
        place = int(text.removesuffix(".0")) - counts_from
    else:
        place = -1
    if not 0 <= place < options:
        raise row.wrong(
            column,
            kind_of(value),
            f"{counts_from} to {counts_from + options - 1}, a letter or a text",
        )
    return {(0, place)} if images == 1 else {(place, 0)}


def _yes(row: SourceRow, name: str) -> bool:
    """Whether a column says yes."""
    value = needed(row, name)
    text = str(value).strip().lower()
    if text not in (*YES, *NO):
        raise row.wrong(name, kind_of(value), "yes or no (also true, false, 1, 0)")
    return text in YES


def measures_of(shapes: set[tuple[int, int, bool, int]]) -> tuple[str, ...]:
    """The measures for items of these shapes, the main one first.

    A shape is the number of images and captions, whether one of two pairs is the original, and the
    largest number of captions that are true of one image while others are not.
    """
    names: list[str] = []
    for images, captions, has_original, most in sorted(shapes):
        if (images, captions) == (1, 1):
            names += ["T1", "T1-AUC"]
        elif (images, captions) == (2, 2):
            names += ["Group", "I2T", "T2I", *(SIDES if has_original else ())]
        elif most > 1:
            names += ["separation", "accuracy"]
        else:
            names.append("accuracy")
    return tuple(dict.fromkeys(names)) or ("accuracy",)


# Importers


def importer_of(layout: Layout) -> Importer:
    """An importer that reads files by a layout."""

    def read(collector: ItemCollector) -> None:
        GridReader(collector, layout, Counter(), set()).read()

    return Importer(
        name=layout.name,
        about=layout.about,
        read=read,
        endings=layout.endings or ("json", *TABLE_KINDS),
        page=layout.page,
        licence=layout.licence,
        citation=layout.citation,
        verified=layout.verified,
        measures=layout.measures or ("accuracy",),
    )


def read_table_of(collector: ItemCollector) -> None:
    """Read a table whose layout the user gives in a file or by naming its columns."""
    options = collector.options
    layout = read_layout(options.layout) if options.layout else Layout()
    by_hand: dict[str, Any] = {
        "images": options.images_columns,
        "captions": options.captions_columns,
        "true": options.true,
        "kind": options.kind_column and f"{{{options.kind_column}?}}",
        "id": options.id_column,
    }
    layout = replace(layout, **{name: value for name, value in by_hand.items() if value})
    layout.check(str(options.layout or "the options of `tellapart get table`"))
    if not layout.about:
        named = f"images in {', '.join(layout.images)}, captions in {', '.join(layout.captions)}"
        layout = replace(layout, about=f"a table: {named}")
    collector.name, collector.described = layout.name, importer_of(layout)
    GridReader(collector, layout, Counter(), set()).read()


IMPORTER = Importer(
    name="table",
    about="any table, by --images-columns, --captions-columns and --true, or by a layout (YAML)",
    read=read_table_of,
    endings=("json", *TABLE_KINDS),
)
