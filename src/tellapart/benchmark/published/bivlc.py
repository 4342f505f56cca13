"""BiVLC: two images and two captions that differ in one detail, asked in both directions.

Miranda, Salaberria, Agirre and Azkune 2024. The first pair is COCO's (through SugarCrepe), the
second is SugarCrepe's negative caption with an image generated for it. The authors' tables of
outcomes contain the items, too, but their pictures only as printed Python objects.
"""

from __future__ import annotations

from typing import Any

from tellapart import seeds
from tellapart.benchmark.published.fields import SourceRow, slug, table_rows
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.corpus.reader import name_of
from tellapart.errors import UnknownName
from tellapart.files import TABLE_KINDS
from tellapart.items import KINDS

COLUMNS = ("image", "caption", "negative_caption", "negative_image", "type", "subtype")
MEASURES = ("Group", "I2T", "T2I", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
SUBTYPES = {
    "obj": "object", "att": "attribute", "rel": "relation",
    "objects": "object", "attributes": "attribute", "relations": "relation",
}  # fmt: skip
"""What is changed: the names of SugarCrepe and BiVLC, and the toolkit's."""


def read(collector: ItemCollector) -> None:
    """The items of the tables."""
    for file in collector.files:
        collector.each(table_rows(file, COLUMNS), add)


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a row."""
    captions = (row.text("caption"), row.text("negative_caption"))
    kind = row_kind(row)
    source_id = f"{name_of(row.file)}/{row.number}"
    # If the picture is only printed, nothing but the caption identifies COCO's image.
    images = (
        collector.cell_image(row, "image", coco=True, unnamed=seeds.digest(captions[0])[:16]),
        collector.cell_image(row, "negative_image", unnamed=source_id),
    )
    collector.add_square(row, source_id, images, captions, kind=kind, original=True)


def kind_name(edit: Any, subtype: Any) -> str:
    """A kind of near miss in the toolkit's spelling.

    >>> kind_name("add", "obj")
    'add-object'
    """
    part = slug(str(subtype))
    return f"{slug(str(edit))}-{SUBTYPES.get(part, part)}"


def row_kind(row: SourceRow) -> str:
    """The kind of near miss, from a row's `type` and `subtype`."""
    kind = kind_name(row.text("type"), row.text("subtype"))
    if kind not in KINDS:
        error = UnknownName("kind of near miss", kind, KINDS)
        raise row.wrong("type", f"{row.get('type')!r}, {row.get('subtype')!r}", error.allowed)
    return kind


IMPORTER = Importer(
    name="bivlc",
    about="BiVLC: two images and two captions, which belongs to which (table, hf:imirandam/BiVLC)",
    read=read,
    endings=TABLE_KINDS,
    page="https://huggingface.co/datasets/imirandam/BiVLC",
    licence="MIT",
    citation="Imanol Miranda, Ander Salaberria, Eneko Agirre, Gorka Azkune: BiVLC: Extending "
    "Vision-Language Compositionality Evaluation with Text-to-Image Retrieval. NeurIPS 2024",
    verified="by people: one chose the best of four generated images or none, and pairs whose "
    "generated image also fits the original caption were dropped",
    measures=MEASURES,
)
