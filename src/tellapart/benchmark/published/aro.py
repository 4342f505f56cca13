"""ARO's relations and attributes on Visual Genome: two captions whose parts are exchanged.

Yuksekogonul et al. 2023. What is shown is the part of the picture in the example's box: the image
is a `#crop=` of the picture, and two boxes of one picture are in one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tellapart.benchmark.published.fields import Row, json_list, row_of
from tellapart.benchmark.published.gathering import Gathering
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.errors import BadInput
from tellapart.tables import read_json

FORM = (
    '[{"image_path", "bbox_x", "bbox_y", "bbox_w", "bbox_h", "true_caption", "false_caption", '
    '"relation_name" or "attributes"}, ...]'
)
KEYS = {"relation_name": "relation", "attributes": "attribution"}


def read(files: Sequence[Path], options: GetOptions) -> Imported:
    """The items of the two files, or of one."""
    gathering = Gathering("aro", files, options)
    for file in files:
        rows = json_list(read_json(file), "", file, FORM)
        for number, (title, where, value) in enumerate(rows):
            with gathering.row(where):
                _add(gathering, row_of(value, title, where), file, number)
    return gathering.done()


def _add(gathering: Gathering, row: Row, file: Path, number: int) -> None:
    key = next((key for key in KEYS if row.values.get(key) is not None), None)
    if key is None:
        raise BadInput(f'{row.title} has neither "relation_name" nor "attributes"', allowed=FORM)
    x, y, width, height = (row.whole(f"bbox_{side}") for side in "xywh")
    if not width or not height:
        raise BadInput(f"the box of {row.title} is {width} x {height} pixels", allowed="1 or more")
    box = f"{x},{y},{width},{height}"
    captions = (row.text("true_caption"), row.text("false_caption"))
    gathering.add_choice(
        file,
        f"{KEYS[key]}/{number}",
        gathering.image(row.text("image_path"), file, crop=box),
        captions,
        0,
        kind=f"aro-{KEYS[key]}",
        notes={"box": box, **row.note(key)},
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
