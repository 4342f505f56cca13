"""COCO-BISON: a caption and two similar images, of which it describes one.

Hu, Misra and van der Maaten 2019. The released captions carry white space at their ends (a
carriage return, mostly); it is collapsed, there and inside, so that equal captions are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tellapart.benchmark.published.fields import Row, json_list, json_object, row_of
from tellapart.benchmark.published.gathering import Gathering
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.errors import BadInput

FORM = '{"data": [{"bison_id", "caption", "image_candidates", "true_image_id"}, ...]}'


def read(files: Sequence[Path], options: GetOptions) -> Imported:
    """The items of the annotation files."""
    gathering = Gathering("bison", files, options)
    changed = 0
    for file in files:
        data = json_object(file, FORM).get("data")
        for title, where, value in json_list(data, "data", file, FORM):
            with gathering.row(where):
                changed += _add(gathering, row_of(value, title, where), file)
    return gathering.done({"captions_with_white_space_collapsed": changed})


def _add(gathering: Gathering, row: Row, file: Path) -> bool:
    """Add the item of a row; whether white space in its caption was collapsed."""
    source_id, given = row.name("bison_id"), row.text("caption")
    caption = " ".join(given.split())
    candidates = row.rows("image_candidates")
    ids = [str(candidate.whole("image_id")) for candidate in candidates]
    true = str(row.whole("true_image_id"))
    if true not in ids:
        raise BadInput(
            f'"true_image_id" {true} of {row.title} is not among its candidates',
            allowed=", ".join(ids) or "there are none",
        )
    images = [
        gathering.image(_file_name(candidate, image_id), file, image_id)
        for candidate, image_id in zip(candidates, ids, strict=True)
    ]
    cell = (images.index(true), 0)
    notes = row.note("caption_id")
    gathering.add(
        file, source_id, images=images, captions=(caption,), true={cell}, kind="bison", notes=notes
    )
    return caption != given


def _file_name(candidate: Row, image_id: str) -> str:
    if candidate.values.get("image_filename") is None:
        return f"COCO_val2014_{int(image_id):012d}.jpg"
    return candidate.text("image_filename")


IMPORTER = Importer(
    name="bison",
    about="COCO-BISON: which of two similar images fits the caption (JSON)",
    read=read,
    endings=("json",),
    page="https://github.com/facebookresearch/binary-image-selection",
    licence="CC BY-NC 4.0",
    citation="Hexiang Hu, Ishan Misra, Laurens van der Maaten: Evaluating Text-to-Image Matching "
    "using Binary Image Selection (BISON). ICCV Workshops 2019",
    verified="by people: one chose a caption that is true of one image only, and two others, who "
    "did not know which, both picked that image",
)
