"""MCIC-COCO: an image and five captions, one of which is its own.

Ding, Goodman, Sha and Soricut 2016. In the release, the five are in alphabetical order in every
row, which makes some positions likelier to be true than others, so they are shuffled.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tellapart.benchmark.published.fields import SourceRow
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.errors import BadInput
from tellapart.files import read_text

FORM = "key=value parts with tabs between them: answer_0, answer_1, ..., image, reference"


def read(collector: ItemCollector) -> None:
    """The items of the text files."""
    for file in collector.files:
        collector.each(_lines(file), add)


def _lines(file: Path) -> Iterator[SourceRow]:
    for number, line in enumerate(read_text(file).split("\n")):
        if line.strip():
            yield SourceRow({"line": line.rstrip("\r")}, file, number, unit="line")


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a line."""
    parts = [part.partition("=") for part in row.values["line"].split("\t")]
    for key, mark, _ in parts:
        if not mark:
            raise BadInput(f"{row.title} has a part without =: {key[:40]!r}", allowed=FORM)
    row = replace(row, values={key: value for key, _, value in parts})
    number = sum(bool(re.fullmatch(r"answer_\d+", key)) for key in row.values)
    captions = [row.text(f"answer_{k}") for k in range(max(number, 2))]
    reference = row.whole("reference")
    if reference >= len(captions):
        raise BadInput(
            f'"reference" of {row.title} is {reference}, but there is no such answer',
            allowed=f"0 to {len(captions) - 1}",
        )
    image = collector.coco(row, row.text("image"))
    notes = {"source_reference": str(reference)}
    source_id = row.name("example_id")
    collector.add_choice(row, source_id, image, captions, reference, kind="mcic", notes=notes)


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
