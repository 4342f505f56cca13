"""A user's table of pairs: image, caption, negative caption, and optionally negative image."""

from __future__ import annotations

from tellapart.benchmark.published.fields import SourceRow, slug, table_rows
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.corpus.reader import name_of
from tellapart.files import TABLE_KINDS


def read(collector: ItemCollector) -> None:
    """One item per row: 2 x 2 if it has a negative image, else 1 x 2."""
    columns = collector.options.columns
    needed = (columns.image, columns.caption, columns.negative_caption)
    for file in collector.files:
        rows = table_rows(file, needed, (columns.negative_image, columns.kind, columns.id))
        collector.each(rows, add)


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a row."""
    columns = collector.options.columns
    captions = (row.text(columns.caption), row.text(columns.negative_caption))
    place = f"{name_of(row.file)}/{row.number + 1}"
    source_id = row.name(columns.id) if row.has(columns.id) else place
    kind = slug(row.text(columns.kind)) if row.has(columns.kind) else "pair"
    image = collector.cell_image(row, columns.image)
    if not row.has(columns.negative_image):
        collector.add_choice(row, source_id, image, captions, kind=kind)
        return
    images = (image, collector.cell_image(row, columns.negative_image))
    collector.add_square(row, source_id, images, captions, kind=kind, original=True)


IMPORTER = Importer(
    name="pairs",
    about="your own pairs: a table with image, caption, negative_caption (and negative_image)",
    read=read,
    endings=TABLE_KINDS,
)
