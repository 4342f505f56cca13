"""The toolkit's own format: a folder with corpus.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.corpus.coco import with_objects
from tellapart.corpus.corpus import CAPTION_COLUMNS, IMAGE_COLUMNS, SCHEMA, Corpus
from tellapart.corpus.reader import ReadOptions, file_head
from tellapart.errors import BadInput
from tellapart.files import fields_of, read_json, read_table, require_columns
from tellapart.parquet import typed

CARD = "corpus.json"
CARD_KINDS: dict[str, type] = {"name": str, "about": dict, "skipped": list}


class NativeReader:
    """Reads the output of `save_corpus`; the path is the folder, or the card inside it."""

    about = "a folder that tellapart wrote (it has corpus.json)"

    def fits(self, path: Path) -> bool:
        """Whether this is a corpus folder or its card."""
        if path.name == CARD and path.is_file():
            return '"tellapart-corpus-' in file_head(path)
        return (path / CARD).is_file()

    def read(self, path: Path, options: ReadOptions) -> Corpus:
        """Read a corpus folder, which stores the paths of its pictures."""
        if options.images is not None:
            raise BadInput(
                "a corpus written by tellapart stores the paths of its pictures",
                where=str(path),
                allowed="no folder of images",
                todo="omit --images (images=...)",
            )
        folder = path.parent if path.name == CARD and path.is_file() else path
        return with_objects(load_corpus(folder), options.objects)


def load_corpus(folder: Path) -> Corpus:
    """Read the toolkit's own format."""
    card = read_json(folder / CARD)
    if not isinstance(card, dict) or card.get("schema") != SCHEMA:
        raise BadInput(
            "corpus.json is not the card of a corpus",
            where=str(folder / CARD),
            allowed=f'"schema": "{SCHEMA}"',
            todo="write the corpus again with this version",
        )
    images = _own_table(folder / "images.parquet", IMAGE_COLUMNS, ("id", "uri"))
    captions = _own_table(folder / "captions.parquet", CAPTION_COLUMNS, tuple(CAPTION_COLUMNS))
    _check_ids(images, captions, folder)
    fields = {"name": folder.name, **fields_of(card, CARD_KINDS, folder / CARD)}
    return Corpus(root=folder, images=images, captions=captions, **fields)


def _own_table(path: Path, columns: Mapping[str, Any], filled: tuple[str, ...]) -> pl.DataFrame:
    table = read_table(path)
    require_columns(table, list(columns), path)
    return typed(table, columns, path, filled=filled)


def _check_ids(images: pl.DataFrame, captions: pl.DataFrame, folder: Path) -> None:
    """Raise if the two tables do not belong together."""
    for name, table in (("image", images), ("caption", captions)):
        twice = table.filter(table["id"].is_duplicated())
        if twice.height:
            raise BadInput(
                f"the {name} id {twice['id'][0]!r} occurs twice",
                where=str(folder / f"{name}s.parquet"),
                allowed="every id once",
            )
    lost = captions.join(images, left_on="image", right_on="id", how="anti")
    if lost.height or not captions.height:
        raise BadInput(
            f"caption {lost['id'][0]} belongs to image {lost['image'][0]}, which is not listed"
            if lost.height
            else f"{folder.name} has no captions",
            where=str(folder / "captions.parquet"),
            allowed="captions of the images in images.parquet, at least one",
            todo="write the corpus again",
        )


READER = NativeReader()
