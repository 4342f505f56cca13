"""BiVLC: two images and two captions that differ by a detail, asked both ways.

Miranda, Salaberria, Agirre and Azkune 2024. The first pair is COCO's (through SugarCrepe), the
second is SugarCrepe's negative caption with an image that was generated for it. The tables of
outcomes that the authors publish hold the items too, with pictures only as Python prints them.
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
"""What is changed, as SugarCrepe and BiVLC call it, in the toolkit's spelling."""


def read(collector: ItemCollector) -> None:
    """The items of the tables."""
    for file in collector.files:
        collector.each(table_rows(file, COLUMNS), add)


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a row."""
    captions = (row.text("caption"), row.text("negative_caption"))
    kind = row_kind(row)
    source_id = f"{name_of(row.file)}/{row.number}"
    # Where the picture is only printed, its caption is all that says which of COCO's it is.
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
    """The kind that a row's `type` and `subtype` say."""
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
