"""Importers: turn a source's files into a benchmark.

An `Importer` says how to read one source, with facts about it. Its `read` goes through the rows of
the files with an `ItemCollector`, which finds pictures, shuffles options, and records problems row
by row. A plugin adds a source with one `Importer`, listed under `tellapart.importers` in its
package's entry points.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.benchmark.columns import frame_of, item_frame, notes_text, plain_frame, slot_fields
from tellapart.benchmark.images import ImageTable
from tellapart.benchmark.published.download import PublishedFile, file_sha256
from tellapart.benchmark.published.fields import SourceRow, kind_of
from tellapart.benchmark.published.options import GetOptions
from tellapart.benchmark.source_order import NOTE, order_note
from tellapart.benchmark.table import ItemTable
from tellapart.corpus.coco import coco_id, find, listing
from tellapart.corpus.reader import ReadOptions, picture_folder
from tellapart.errors import BadInput, Problems
from tellapart.files import can_be_written, suffix
from tellapart.items import Cell, Grid, Item, Origin, Slot, check_item, no_garbage_collection
from tellapart.text.english import alike

ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
"""File endings to try if the source omits a picture's ending."""


PRINTED = "<PIL."
"""Start of a picture's printed Python representation in a text table."""

DATA = frozenset({"csv", "gz", "json", "jsonl", "md", "parquet", "tsv", "txt"})
"""Endings of files that are certainly not pictures."""


@dataclass(frozen=True, slots=True)
class Importer:
    """How to read one source, and facts about it.

    `read` adds the items of all files to a collector. `endings` are the endings of the files to
    take from a folder; `page` is where people find them, `sources` are those that can be
    downloaded. `verified` says who checked the items before they were published.
    """

    name: str
    about: str
    read: Callable[[ItemCollector], None]
    endings: tuple[str, ...]
    page: str = ""
    licence: str = ""
    citation: str = ""
    verified: str = ""
    measures: tuple[str, ...] = ("accuracy",)
    sources: tuple[PublishedFile, ...] = ()


class ItemCollector:
    """Collects the items and images of one import, and its problems row by row.

    Paths of images are relative to `root`. An importer may add `facts` to the card and override its
    own `verified` and `measures`; `described` has the facts about the source from a user's layout.
    """

    def __init__(self, name: str, files: Sequence[Path], options: GetOptions) -> None:
        self.name, self.files, self.options = name, files, options
        self.problems = Problems(skip=options.skip_bad)
        self.facts: dict[str, Any] = {}
        self.verified = ""
        self.measures: tuple[str, ...] = ()
        self.described: Importer | None = None
        self._uris: dict[str, str] = {}
        self._sha256: dict[str, str] = {}
        self._rows: list[tuple[Any, ...]] = []
        self._frames: list[pl.DataFrame] = []
        self._ids: set[str] = set()
        self._found: set[str] = set()
        self._listings: dict[Path, tuple[Path, dict[str, str]]] = {}
        self.root = self._folder(files[0])

    def each(
        self, rows: Iterable[SourceRow], add: Callable[[ItemCollector, SourceRow], object]
    ) -> None:
        """Call `add` with every row; rows with problems are left out and recorded."""
        for row in rows:
            try:
                row.check()
                add(self, row)
            except BadInput as problem:
                self.note(row, problem)

    def note(self, row: SourceRow, problem: BadInput) -> None:
        """Record a problem with a row."""
        problem.where = row.where
        self.problems.add(problem)

    # Images

    def image(self, source: Path, file_name: str, image_id: str = "", crop: str = "") -> str:
        """The id of an image named in a source file; its picture is searched for once.

        `crop` is the part to use, as `left,top,width,height` in pixels.
        """
        part = f"#crop={crop}" if crop else ""
        image_id = (image_id or file_name) + part
        if image_id in self._uris:
            return image_id
        path = self._path(file_name, image_id.partition("#")[0], source)
        if path is not None:
            self._found.add(image_id)
        self._uris[image_id] = (path or file_name) + part
        return image_id

    def coco(self, row: SourceRow, file_name: str) -> str:
        """The id of an image that may be one of COCO's, which then gets its usual COCO id."""
        return self.image(row.file, file_name, coco_id(file_name) or file_name)

    def cell_image(
        self, row: SourceRow, column: str, *, coco: bool = False, unnamed: str = ""
    ) -> str:
        """The id of the image in a cell: a path, bytes, or a Hugging Face dataset's form of either.

        `coco` treats a file with one of COCO's usual names as COCO's picture; `unnamed` is the id
        of a picture that the cell has only as a printed Python object.
        """
        return self.image_in(row, row.get(column), column, coco=coco, unnamed=unnamed)

    def image_in(
        self,
        row: SourceRow,
        value: Any,
        column: str,
        *,
        coco: bool = False,
        unnamed: str = "",
        crop: str = "",
        place: int = 0,
    ) -> str:
        """The id of an image given as a value of a row; `place` is its index in a list."""
        if isinstance(value, dict):
            value = value.get("bytes") or value.get("path")
        if isinstance(value, bytes):
            if crop:
                raise row.wrong(column, "bytes, which cannot be cropped", "the path of a picture")
            return self._stored_image(value, row, column, place)
        if not isinstance(value, str) or not value.strip():
            raise BadInput(
                f'"{column}" of {row.title} is {"empty" if not value else kind_of(value)}',
                allowed="the path of a picture as text; in Parquet also its bytes",
            )
        if not can_be_written(value):
            raise row.wrong(
                column, f"not Unicode text: {value!a:.60}", "a path that UTF-8 can encode"
            )
        if value.startswith(PRINTED):
            return self._printed_image(row, column, unnamed)
        return self.image(row.file, value, (coco_id(value) or "") if coco else "", crop)

    def _printed_image(self, row: SourceRow, column: str, unnamed: str) -> str:
        """A picture that was lost when the table was written: only its printed form is left."""
        if not unnamed:
            raise row.wrong(
                column, "a picture's printed Python object", "the path of a picture, or its bytes"
            )
        self.facts["images_only_printed"] = self.facts.get("images_only_printed", 0) + 1
        return self.image(row.file, f"{unnamed}.jpg", unnamed)

    def _stored_image(self, data: bytes, row: SourceRow, column: str, place: int) -> str:
        sha256 = hashlib.sha256(data).hexdigest()
        image_id = sha256[:16]
        if image_id not in self._uris:
            cell = f"column={quote(column, safe='')}&row={row.number}"
            cell += f"&place={place}" if place else ""
            self._uris[image_id] = f"{self._relative(row.file)}#{cell}"
            self._sha256[image_id] = sha256
            self._found.add(image_id)
        return image_id

    @property
    def images(self) -> ImageTable:
        """The images named so far."""
        hashes = list(map(self._sha256.get, self._uris))
        return ImageTable.of_columns(list(self._uris), list(self._uris.values()), hashes)

    def _folder(self, file: Path) -> Path:
        """The folder of the pictures named in a file."""
        return picture_folder(file, ReadOptions(images=self.options.images))

    def _listing(self, file: Path) -> tuple[Path, dict[str, str]]:
        """The folder of the pictures named in a file, and their paths in it."""
        if file not in self._listings:
            folder = self._folder(file)
            known = (one for one in self._listings.values() if one[0] == folder)
            self._listings[file] = next(known, None) or (folder, _pictures(folder))
        return self._listings[file]

    def _path(self, file_name: str, image_id: str, file: Path) -> str | None:
        """The path of a picture relative to `root`; None if it was not found."""
        folder, listed = self._listing(file)
        if "://" in file_name:  # downloaded under the last part of its address, if at all
            last = listed.get(file_name.rpartition("/")[2])
            return last if last is None or folder == self.root else self._relative(folder / last)
        path = find(file_name, image_id, listed) if listed else None
        if path is None and "." not in file_name.rpartition("/")[2]:
            names = (file_name + ending for ending in ENDINGS)
            path = next((listed[name] for name in names if name in listed), None)
        # os.path, unlike Path, returns False for names that no file system allows.
        if path is None and "/" in file_name and os.path.isfile(folder / file_name):  # noqa: PTH113
            path = file_name
        return path if path is None or folder == self.root else self._relative(folder / path)

    def _relative(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.root)).as_posix()

    # Items

    def add(
        self, row: SourceRow, source_id: str, grid: Grid, *, kind: str, notes: Mapping[str, str]
    ) -> None:
        """Add one item as it is; raises if it is invalid."""
        item_id = f"{self.name}:{source_id}"
        for options, noun in ((grid.images, "images"), (grid.captions, "captions")):
            counts = Counter(option.strip() for option in options)
            if len(counts) < len(options):
                raise BadInput(
                    f"two {noun} of {item_id} are the same: {counts.most_common(1)[0][0]!r}",
                    allowed=f"{noun} that differ",
                )
        if item_id in self._ids:
            raise BadInput(f"the id {item_id!r} occurs twice", allowed="every id once")
        slot = grid.slot
        if slot is not None:  # all other checks are done later, on columns
            check_item(Item.imported(self.name, source_id, grid, kind=kind, origin=Origin("")))
        elif self.options.alike:  # not with a slot, whose offsets would shift
            grid = replace(grid, captions=tuple(alike(caption) for caption in grid.captions))
        shuffled = NOTE in notes and not self.options.keep_order
        self._ids.add(item_id)
        self._rows.append(
            (item_id, kind, grid.images, grid.captions, tuple(sorted(grid.true)), grid.original,
             slot and slot_fields(slot), row.file.name, source_id,
             self.options.seed if shuffled else None, notes_text(notes))
        )  # fmt: skip

    def extend(self, source: Path, kind: str, rows: pl.DataFrame) -> bool:
        """Add many items that need no closer look; returns False if an id recurs.

        `rows` has the columns `source_id`, `images`, `captions`, `true_cells` and `notes`.
        """
        ids = f"{self.name}:" + rows["source_id"]
        if ids.n_unique() < len(ids) or not self._ids.isdisjoint(ids):
            return False
        self._ids.update(ids)
        self._gather()
        plain = rows.with_columns(ids.alias("id"), kind=pl.lit(kind), source=pl.lit(source.name))
        self._frames.append(plain)
        return True

    def add_choice(
        self,
        row: SourceRow,
        source_id: str,
        image: str,
        captions: Sequence[str],
        right: int = 0,
        *,
        kind: str,
        notes: Mapping[str, str] | None = None,
        slot: Slot | None = None,
    ) -> None:
        """Add an image with captions, one of which is true (`right` is its index in the source)."""
        order = self._order(source_id, "captions", len(captions))
        grid = Grid.caption_choice(image, captions, order, right=right, slot=slot)
        self.add(row, source_id, grid, kind=kind, notes={**(notes or {}), **order_note(order)})

    def add_square(
        self,
        row: SourceRow,
        source_id: str,
        images: Sequence[str],
        captions: Sequence[str],
        *,
        kind: str,
        notes: Mapping[str, str] | None = None,
        original: bool,
    ) -> None:
        """Add two images and two captions, each caption true of the image with its index.

        `original` means that the first pair existed before the other was derived from it.
        """
        across = self._order(source_id, "images", 2)
        down = self._order(source_id, "captions", 2)
        grid = Grid.square(images, captions, across, down, original=original)
        order = order_note(down, images=across)
        self.add(row, source_id, grid, kind=kind, notes={**(notes or {}), **order})

    def add_grid(
        self,
        row: SourceRow,
        source_id: str,
        images: Sequence[str],
        captions: Sequence[str],
        true: Iterable[Cell],
        *,
        kind: str,
        notes: Mapping[str, str],
        original: bool,
    ) -> None:
        """Add any grid; `true` has cells in the source's order, the first being the `original`."""
        across = self._order(source_id, "images", len(images))
        down = self._order(source_id, "captions", len(captions))
        cells = [(across.index(i), down.index(j)) for i, j in sorted(true)]
        grid = Grid(
            tuple(images[k] for k in across),
            tuple(captions[k] for k in down),
            frozenset(cells),
            cells[0] if original and cells else None,
        )
        order = order_note(down, images=across if len(images) > 1 else ())
        self.add(row, source_id, grid, kind=kind, notes={**notes, **order})

    def _order(self, source_id: str, what: str, number: int) -> list[int]:
        """The source's indices in the item's order, shuffled by the seed."""
        if self.options.keep_order:
            return list(range(number))
        seed = self.options.seed
        return sorted(
            range(number), key=lambda k: seeds.number(seed, self.name, what, source_id, k)
        )

    def kept(self) -> tuple[ItemTable, dict[str, Any]]:
        """The items to keep, with duplicates flagged, and the card's counts about the others."""
        items, duplicates = self._flagged()
        if self.options.drop_duplicates:
            items = items.where(~pl.col("id").is_in(list(duplicates)))
        used = set(items.frame["images"].explode().drop_nulls())
        found = pl.Series(sorted(self._found), dtype=pl.String).implode()
        whole = items.where(pl.col("images").list.eval(pl.element().is_in(found)).list.all())
        counts = {
            "duplicates": {
                "items": len(duplicates),
                "kept": not self.options.drop_duplicates,
                "of": duplicates,
            },
            "images": {"found": len(used & self._found), "missing": len(used - self._found)},
            "items_with_images": len(whole),
        }
        if not self.options.only_with_images:
            return items, counts
        self.problems.settle()
        if len(items) and not len(whole):
            example = self._uris[items[0].images[0]]
            raise BadInput(
                f"none of the {len(items):,} items has all of its images",
                where=str(self.root),
                allowed=f"picture files such as {example}",
                todo="give their folder with --images, or omit --only-with-images",
            )
        return whole, {**counts, "left_out_without_images": len(items) - len(whole)}

    def _gather(self) -> None:
        """Turn the items that were added one by one into columns."""
        names = ("id", "kind", "images", "captions", "true_cells", "original", "slot",
                 "source", "source_id", "seed", "notes")  # fmt: skip
        if self._rows:
            self._frames.append(
                plain_frame(dict(zip(names, zip(*self._rows, strict=True), strict=True)))
            )
            self._rows.clear()

    def _table(self) -> ItemTable:
        """All items, without their contents and groups."""
        self._gather()
        made_by = pl.lit(f"tellapart get {self.name}")
        frames = [item_frame(frame.with_columns(made_by=made_by)) for frame in self._frames]
        self._frames.clear()
        return ItemTable(pl.concat(frames or [frame_of(())], rechunk=True))

    def _flagged(self) -> tuple[ItemTable, dict[str, str]]:
        """The items with a note on each duplicate, and each duplicate's id with its original's."""
        table = self._table()
        frame = table.frame.with_columns(table.contents())
        first = frame.select(pl.col("id").first().over("content")).to_series()
        later = (first != frame["id"]).arg_true()
        duplicates = dict(zip(frame["id"][later], first[later], strict=True))
        if duplicates:
            notes = frame["origin"].struct.field("notes").to_list()
            for place in later:
                flag = {"duplicate_of": first[place]}
                notes[place] = notes_text({**json.loads(notes[place]), **flag})
            flagged = pl.Series("notes", notes, pl.String)
            frame = frame.with_columns(pl.col("origin").struct.with_fields(flagged))
        return ItemTable(frame), duplicates


def import_benchmark(
    importer: Importer,
    files: Sequence[Path],
    options: GetOptions = GetOptions(),  # noqa: B008
) -> Benchmark:
    """Read a source's files as a benchmark, without saving it."""
    collector = ItemCollector(importer.name, files, options)
    with (
        no_garbage_collection()
    ):  # rows have no reference cycles, and searching for them takes a third longer
        importer.read(collector)
        items, counts = collector.kept()
    source = collector.described or importer
    card = Card(
        name=options.name or source.name,
        about=source.about,
        measures=collector.measures or source.measures,
        made={
            "by": f"tellapart get {importer.name}",
            "files": [_file_facts(file, importer) for file in files],
            **collector.facts,
            **counts,
            "options": options.for_card(),
        },
        licence=source.licence,
        citation=source.citation,
        verified=collector.verified or source.verified,
    )
    return make_benchmark(
        card, collector.root, items, collector.images, problems=collector.problems
    )


def _pictures(folder: Path) -> dict[str, str]:
    """The path of each file in a folder that may be a picture."""
    inside = listing(folder).items()
    return {name: path for name, path in inside if suffix(Path(name)) not in DATA}


def _file_facts(path: Path, importer: Importer) -> dict[str, Any]:
    facts = {"name": path.name, "sha256": file_sha256(path)}
    if not importer.sources:
        return facts
    published = {source.sha256 for source in importer.sources}
    return {**facts, "as_published": facts["sha256"] in published}
