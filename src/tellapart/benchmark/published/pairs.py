"""Anyone's table of pairs: an image, its caption, a negative caption, perhaps a negative image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tellapart.benchmark.published.cells import cell_image, table_rows
from tellapart.benchmark.published.fields import Row, slug
from tellapart.benchmark.published.gathering import Gathering
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import Columns, GetOptions, Imported
from tellapart.corpus.reader import name_of
from tellapart.tables import TABLE_KINDS


def read(files: Sequence[Path], options: GetOptions) -> Imported:
    """One item a row: 2 x 2 where it has a negative image, else 1 x 2."""
    gathering = Gathering("pairs", files, options)
    columns = options.columns
    needed = (columns.image, columns.caption, columns.negative_caption)
    for file in files:
        rows = table_rows(file, needed, (columns.negative_image, columns.kind, columns.id))
        for number, row in enumerate(rows, 1):
            with gathering.row(row.where):
                _add(gathering, row, file, f"{name_of(file)}/{number}", columns)
    return gathering.done()


def _add(gathering: Gathering, row: Row, file: Path, place: str, columns: Columns) -> None:
    captions = (row.text(columns.caption), row.text(columns.negative_caption))
    source_id = place if row.values.get(columns.id) is None else row.name(columns.id)
    kind = "pair" if row.values.get(columns.kind) is None else slug(row.text(columns.kind))
    image = cell_image(gathering, row, columns.image, file)
    if row.values.get(columns.negative_image) is None:
        gathering.add_choice(file, source_id, image, captions, 0, kind=kind, notes={})
        return
    images = (image, cell_image(gathering, row, columns.negative_image, file))
    gathering.add_square(file, source_id, images, captions, kind=kind, notes={}, original=True)


IMPORTER = Importer(
    name="pairs",
    about="your own pairs: a table with image, caption, negative_caption (and negative_image)",
    read=read,
    endings=TABLE_KINDS,
)
