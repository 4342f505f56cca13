"""ARO's relations and attributes on Visual Genome: two captions whose parts are exchanged.

Yuksekogonul et al. 2023. What is shown is the part of the picture in the example's box: the image
is a `#crop=` of the picture, and two boxes of one picture are in one group.
"""

from __future__ import annotations

from tellapart.benchmark.published.fields import SourceRow, list_rows
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.errors import BadInput
from tellapart.files import read_json

FORM = (
    '[{"image_path", "bbox_x", "bbox_y", "bbox_w", "bbox_h", "true_caption", "false_caption", '
    '"relation_name" or "attributes"}, ...]'
)
KINDS = {"relation_name": "relation", "attributes": "attribution"}


def read(collector: ItemCollector) -> None:
    """The items of the two files, or of one."""
    for file in collector.files:
        collector.each(list_rows(file, FORM, read_json(file)), add)


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a row, of a part of its picture."""
    key = next((key for key in KINDS if row.has(key)), None)
    if key is None:
        raise BadInput(f'{row.title} has neither "relation_name" nor "attributes"', allowed=FORM)
    x, y, width, height = (row.whole(f"bbox_{side}") for side in "xywh")
    if not width or not height:
        raise BadInput(f"the box of {row.title} is {width} x {height} pixels", allowed="1 or more")
    box = f"{x},{y},{width},{height}"
    captions = (row.text("true_caption"), row.text("false_caption"))
    collector.add_choice(
        row,
        f"{KINDS[key]}/{row.number}",
        collector.image(row.file, row.text("image_path"), crop=box),
        captions,
        kind=f"aro-{KINDS[key]}",
        notes={"box": box, **row.notes(key)},
    )


IMPORTER = Importer(
    name="aro",
    about="ARO, relations and attributes of Visual Genome: which caption fits the image (JSON)",
    read=read,
    endings=("json",),
    page="https://github.com/mertyg/vision-language-models-are-bows",
    licence="MIT; Visual Genome is CC BY 4.0",
    citation="Mert Yuksekogonul, Federico Bianchi, Pratyusha Kalluri, Dan Jurafsky, James Zou: "
    "When and Why Vision-Language Models Behave like Bags-of-Words, and What to Do About It? "
    "ICLR 2023",
)
