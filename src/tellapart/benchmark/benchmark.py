"""A benchmark: a folder with a card, items and references to images.

`benchmark.json` is the card, `items.parquet` has the items, `images.parquet` the images (path or
URI, and sha256 and size if known). An exported benchmark has its items, with the pictures, in
`data/test.parquet` instead and can be read the same way. The card's `items_sha256` hashes the
items' content, not the file's bytes, so that it does not depend on the Parquet writer.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from tellapart._version import __version__
from tellapart.benchmark.columns import FILLED, ITEM_COLUMNS
from tellapart.benchmark.homes import found_folder
from tellapart.benchmark.images import IMAGE_COLUMNS, ImageTable
from tellapart.benchmark.table import ItemTable
from tellapart.errors import BadInput, Problems
from tellapart.files import (
    fields_of,
    read_json,
    read_table,
    require_columns,
    whole_folder,
    write_json,
    write_parquet,
)
from tellapart.items import Image, Item, check_item
from tellapart.parquet import read_slices, schema_of, try_parquet, typed, whole_parquet
from tellapart.pictures import Picture
from tellapart.seeds import digest

SCHEMA = "tellapart-benchmark-1"
AT_ONCE = 4096
"""How many items of an export are read at a time; their pictures are not loaded."""

EXPORTED = "data/test.parquet"
"""The items of an exported benchmark; its column `image_ids` is `images` elsewhere."""


@dataclass(frozen=True, slots=True)
class Card:
    """Facts about a benchmark.

    `measures` are the names of its measures, the main one first. `verified` says who checked the
    items; empty means that nobody did.
    """

    name: str
    version: str = "1"
    about: str = ""
    measures: tuple[str, ...] = ("accuracy",)
    made: Mapping[str, Any] = field(default_factory=dict)
    licence: str = ""
    citation: str = ""
    verified: str = ""
    skipped: tuple[str, ...] = ()


NEEDED = ("name", "measures", "items_sha256")
CARD_FILE = "benchmark.json"
CARD_KINDS: dict[str, type] = {
    **dict.fromkeys((*Card.__dataclass_fields__, "items_sha256"), str),
    "measures": list, "skipped": list, "made": dict,
}  # fmt: skip
"""The types of a card's entries; those in `NEEDED` are required."""


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Items and images with their card; paths are relative to the folder `root`.

    Its length is the number of items; iterating over it yields them one by one.
    """

    card: Card
    root: Path
    items: ItemTable
    images: ImageTable

    def __post_init__(self) -> None:
        # callers may pass any iterables of items and images
        object.__setattr__(self, "items", ItemTable.of(self.items))
        object.__setattr__(self, "images", ImageTable.of(self.images))

    @property
    def name(self) -> str:
        """The card's name."""
        return self.card.name

    @property
    def sha256(self) -> str:
        """The hash of the items, recorded in runs and reports."""
        return self.items.sha256

    @property
    def by_id(self) -> Mapping[str, Item]:
        """Items by their ids."""
        return self.items.by_id

    def picture(self, image_id: str) -> Picture:
        """One image, ready to be opened."""
        return Picture(self.images[image_id], self.root)

    def pictures(self, item: Item) -> tuple[Picture, ...]:
        """The images of an item."""
        return tuple(self.picture(image_id) for image_id in item.images)

    @property
    def canary(self) -> str:
        """A string that marks this benchmark's files, to detect them in training data."""
        return f"tellapart-canary-{digest('canary', self.name, self.card.version)[:32]}"

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __str__(self) -> str:
        return f"{self.name}: {len(self.items):,} items, {len(self.images):,} images"

    def __repr__(self) -> str:
        return f"<Benchmark {self}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(item.id)}</td><td>{escape(item.kind)}</td>"
            f"<td>{escape(', '.join(item.images))}</td>"
            f"<td>{'<br>'.join(map(escape, item.captions))}</td></tr>"
            for item in self.items[:5]
        )
        head = "<tr><th>item</th><th>kind</th><th>images</th><th>captions</th></tr>"
        return f"<p>{escape(str(self))}</p><table>{head}{rows}</table>"


def make_benchmark(
    card: Card,
    root: Path,
    items: Iterable[Item],
    images: Iterable[Image] | ImageTable,
    *,
    problems: Problems | None = None,
) -> Benchmark:
    """Check and group items and make a benchmark of them."""
    problems = Problems() if problems is None else problems
    known = ImageTable.of(images)
    checked = items if isinstance(items, ItemTable) else _checked_one_by_one(items, problems)
    table = _checked(checked, known, problems)
    problems.settle()
    if not len(table):
        raise BadInput(
            f"{card.name} has no items",
            allowed="at least one item",
            todo="use a larger corpus, or looser options (see --help)",
        )
    card = replace(card, skipped=card.skipped + tuple(p.what for p in problems))
    used = table.frame["images"].explode().unique()
    return Benchmark(card, root, table.grouped(), known.named(used))


def _checked_one_by_one(items: Iterable[Item], problems: Problems) -> ItemTable:
    """The valid items; checked before they become columns, which cannot hold wrong types."""
    good: list[Item] = []
    for item in items:
        try:
            check_item(item)
        except BadInput as problem:
            problems.add(problem)
        else:
            good.append(item)
    return ItemTable.of(good)


def _checked(table: ItemTable, images: ImageTable, problems: Problems) -> ItemTable:
    """The items that are valid, whose images are listed, and whose ids are unique."""
    faults = dict(table.faulty())
    for place, image in table.unlisted(images.ids).items():
        faults.setdefault(
            place, BadInput(f"item {table.ids[place]} uses image {image}, which is not listed")
        )
    for place in (~table.ids.is_first_distinct()).arg_true():
        twice = f"the item id {table.ids[place]!r} occurs twice"
        faults.setdefault(place, BadInput(twice, allowed="every id once"))
    if not faults:
        return table
    for place in sorted(faults):
        problems.add(faults[place])
    return table.where(~pl.int_range(pl.len()).is_in(sorted(faults)))


def write_benchmark(benchmark: Benchmark, folder: Path) -> ImageTable:
    """Write the three files into an unfinished folder (see `save_benchmark`).

    Returns the images with paths relative to that folder.
    """
    images = benchmark.images.moved(benchmark.root, folder)
    write_parquet(folder / "images.parquet", images.frame)
    write_parquet(folder / "items.parquet", benchmark.items.frame)
    write_json(folder / CARD_FILE, card_json(benchmark))
    return images


def card_json(benchmark: Benchmark) -> dict[str, Any]:
    """The card as written to its file, with counts and hashes."""
    card = asdict(benchmark.card)
    kinds = benchmark.items.frame["kind"].value_counts().sort("kind")
    return {
        "schema": SCHEMA,
        **card,
        "counts": {
            "items": len(benchmark.items),
            "images": len(benchmark.images),
            "captions": benchmark.items.frame["captions"].explode().n_unique(),
            "groups": benchmark.items.frame["group"].n_unique(),
            "kinds": dict(kinds.iter_rows()),
        },
        "items_sha256": benchmark.sha256,
        "canary": benchmark.canary,
        "tellapart": __version__,
    }


def save_benchmark(benchmark: Benchmark, out: Path, *, overwrite: bool = False) -> Benchmark:
    """Write a benchmark, completely or not at all, and return it with its new paths."""
    with whole_folder(out, overwrite=overwrite) as partial:
        images = write_benchmark(benchmark, partial)
    return replace(benchmark, root=out, images=images)


def is_benchmark(path: Path | str) -> bool:
    """Whether a folder is a benchmark."""
    return (Path(path) / CARD_FILE).is_file()


def load_benchmark(where: Path | str) -> Benchmark:
    """Read a benchmark from its folder, or by its name under `TELLAPART_HOME`."""
    folder = found_folder(Path(where))
    card = read_json(folder / CARD_FILE)
    if not isinstance(card, dict) or card.get("schema") != SCHEMA:
        raise BadInput(
            f"{folder / 'benchmark.json'} is not a benchmark card of this version",
            allowed=f"schema {SCHEMA}",
            todo="build or import the benchmark again",
        )
    exported = not (folder / "items.parquet").exists() and (folder / EXPORTED).is_file()
    path = folder / (EXPORTED if exported else "items.parquet")
    table = _exported_items(path) if exported else _read_table(path, ITEM_COLUMNS, FILLED)
    items = ItemTable(table.select(list(ITEM_COLUMNS)), path)
    items.check_form()
    fields = fields_of(card, CARD_KINDS, folder / CARD_FILE, needed=NEEDED)
    sha256 = fields.pop("items_sha256")
    images = ImageTable(_read_table(folder / "images.parquet", IMAGE_COLUMNS, ("id", "uri")))
    benchmark = Benchmark(Card(**fields), folder, items.taking_turns(), images)
    if benchmark.sha256 != sha256:
        raise BadInput(
            f"the items of {benchmark.name} do not match its card",
            where=str(folder),
            allowed=f"items with sha256 {sha256[:12]}..., these have {benchmark.sha256[:12]}...",
            todo="build or import the benchmark again; items must not be edited by hand",
        )
    return benchmark


def _exported_items(path: Path) -> pl.DataFrame:
    """The items of an export, without their pictures."""
    names = {"image_ids" if name == "images" else name: name for name in ITEM_COLUMNS}
    try_parquet(path, path, list(names), AT_ONCE)
    with whole_parquet(path):
        require_columns(pl.DataFrame(schema=schema_of(path)), list(names), path)
    table = pl.concat(read_slices(path, path, list(names), AT_ONCE)).rename(names)
    return typed(table, ITEM_COLUMNS, path, filled=FILLED)


def _read_table(path: Path, columns: Mapping[str, Any], filled: Collection[str]) -> pl.DataFrame:
    if not path.exists():
        raise BadInput(f"{path.parent.name} has no {path.name}", where=str(path.parent))
    table = read_table(path)
    require_columns(table, list(columns), path)
    return typed(table, columns, path, filled=filled)
