"""MCIC-COCO: an image and five captions, of which one is its own.

Ding, Goodman, Sha and Soricut 2016. In the release the five stand in alphabetical order in every
row, which makes some places likelier than others: they are shuffled.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tellapart.benchmark.published.fields import Row
from tellapart.benchmark.published.gathering import Gathering
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.errors import BadInput
from tellapart.tables import read_text

FORM = "key=value parts with tabs between them: answer_0, answer_1, ..., image, reference"


def read(files: Sequence[Path], options: GetOptions) -> Imported:
    """The items of the text files."""
    gathering = Gathering("mcic", files, options)
    for file in files:
        for number, line in enumerate(read_text(file).split("\n"), 1):
            if not line.strip():
                continue
            where = f"{file}, line {number}"
            with gathering.row(where):
                row = _parsed(line.rstrip("\r"), f"line {number} of {file.name}", where)
                _add(gathering, row, file)
    return gathering.done()


def _parsed(line: str, title: str, where: str) -> Row:
    parts = [part.partition("=") for part in line.split("\t")]
    for key, mark, _ in parts:
        if not mark:
            raise BadInput(f"{title} has a part without a =: {key[:40]!r}", allowed=FORM)
    return Row({key: value for key, _, value in parts}, title, where)


def _add(gathering: Gathering, row: Row, file: Path) -> None:
    number = sum(bool(re.fullmatch(r"answer_\d+", key)) for key in row.values)
    captions = [row.text(f"answer_{k}") for k in range(max(number, 2))]
    reference = row.whole("reference")
    if reference >= len(captions):
        raise BadInput(
            f'"reference" of {row.title} is {reference}, there is no such answer',
            allowed=f"0 to {len(captions) - 1}",
        )
    image = gathering.coco(row.text("image"), file)
    source_id = row.name("example_id")
    notes = {"source_reference": str(reference)}
    gathering.add_choice(file, source_id, image, captions, reference, kind="mcic", notes=notes)


IMPORTER = Importer(
    name="mcic",
    about="MCIC-COCO: which of five captions fits the image (key=value lines)",
    read=read,
    endings=("txt",),
    page="https://arxiv.org/abs/1612.07833",
    licence="Apache 2.0",
    citation="Nan Ding, Sebastian Goodman, Fei Sha, Radu Soricut: Understanding Image and Text "
    "Simultaneously: a Dual Vision-Language Machine Comprehension Task. arXiv 2016",
)
