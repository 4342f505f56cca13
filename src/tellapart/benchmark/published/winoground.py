"""Winoground: two images and two captions that have the same words in another order.

Thrush et al. 2022. Its text score is I2T here, its image score T2I, its group score Group.
"""

from __future__ import annotations

from tellapart.benchmark.published.fields import SourceRow, slug, table_rows
from tellapart.benchmark.published.importer import Importer, ItemCollector

COLUMNS = ("id", "image_0", "image_1", "caption_0", "caption_1")
NOTES = ("tag", "secondary_tag", "collapsed_tag", "num_main_preds")


def read(collector: ItemCollector) -> None:
    """The items of the tables."""
    for file in collector.files:
        collector.each(table_rows(file, COLUMNS, NOTES), add)


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a row."""
    captions = (row.text("caption_0"), row.text("caption_1"))
    images = (collector.cell_image(row, "image_0"), collector.cell_image(row, "image_1"))
    notes = row.notes(*NOTES)
    kind = slug(notes.get("collapsed_tag") or notes.get("tag", "")) or "winoground"
    source_id = row.name("id")
    collector.add_square(row, source_id, images, captions, kind=kind, notes=notes, original=False)


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
