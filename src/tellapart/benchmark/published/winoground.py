"""Winoground: two images and two captions that have the same words in another order.

Thrush et al. 2022. Its text score is I2T here, its image score T2I, its group score Group.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tellapart.benchmark.published.cells import cell_image, table_rows
from tellapart.benchmark.published.fields import Row, slug
from tellapart.benchmark.published.gathering import Gathering
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import GetOptions, Imported

COLUMNS = ("id", "image_0", "image_1", "caption_0", "caption_1")
NOTES = ("tag", "secondary_tag", "collapsed_tag", "num_main_preds")


def read(files: Sequence[Path], options: GetOptions) -> Imported:
    """The items of the tables."""
    gathering = Gathering("winoground", files, options)
    for file in files:
        for row in table_rows(file, COLUMNS, NOTES):
            with gathering.row(row.where):
                _add(gathering, row, file)
    return gathering.done()


def _add(gathering: Gathering, row: Row, file: Path) -> None:
    captions = (row.text("caption_0"), row.text("caption_1"))
    images = (
        cell_image(gathering, row, "image_0", file),
        cell_image(gathering, row, "image_1", file),
    )
    notes = {key: value for name in NOTES for key, value in row.note(name).items()}
    kind = slug(notes.get("collapsed_tag") or notes.get("tag", "")) or "winoground"
    gathering.add_square(
        file, row.name("id"), images, captions, kind=kind, notes=notes, original=False
    )


IMPORTER = Importer(
    name="winoground",
    about="Winoground: two images and two captions of the same words (JSONL, Parquet)",
    read=read,
    endings=("jsonl", "parquet"),
    page="https://huggingface.co/datasets/facebook/winoground",
    licence="Winoground's own, research only; the images are Getty's: agree to both at its page",
    citation="Tristan Thrush, Ryan Jiang, Max Bartolo, Amanpreet Singh, Adina Williams, Douwe "
    "Kiela, Candace Ross: Winoground: Probing Vision and Language Models for Visio-Linguistic "
    "Compositionality. CVPR 2022",
    verified="by people: four annotators wrote the captions and chose the images",
    measures=("Group", "I2T", "T2I"),
)
