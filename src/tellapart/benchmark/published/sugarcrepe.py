"""SugarCrepe: an image, its caption, and a fluent caption that is wrong in one detail.

Hsieh, Zhang, Ma, Kembhavi and Krishna 2023. The file's name gives the kind of near miss. Tables
with all kinds, such as those that BiVLC's authors publish, have columns `type` and `subtype`.
"""

from __future__ import annotations

from pathlib import Path

from tellapart.benchmark.published.bivlc import SUBTYPES, row_kind
from tellapart.benchmark.published.download import PublishedFile
from tellapart.benchmark.published.fields import SourceRow, entry_rows, json_object, table_rows
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.corpus.reader import name_of
from tellapart.errors import BadInput
from tellapart.files import TABLE_KINDS, suffix

COLUMNS = ("filename", "caption", "negative_caption", "type", "subtype")
FORM = '{"0": {"filename", "caption", "negative_caption"}, ...}'
ADDRESS = "https://raw.githubusercontent.com/RAIVNLab/sugar-crepe/main/data"
FILES = {
    "add_att": "012d88d729693d193760e6f3393b06a1cf874380a9db0062e937201199fe044d",
    "add_obj": "1b9d76b93139a937b8dc1ada92a4f05ecc821bb3c291d752428bafadd4bb0682",
    "replace_att": "9fe55fd4c0a9ad1f85d486d9f6d0215b41f867eb025026e7f7b5ce44352545ee",
    "replace_obj": "9d299600639947e9d15281a9ded1382b376cf4ea088a8d08a1314bfe76e81898",
    "replace_rel": "356bcc2fc4c6aed3f4d9fd50acc58489bb1fe70c28791f9368d4cbf9ea39cdc9",
    "swap_att": "7a7ce04e5c4c80412b48c6f0c1347fb1a2f5d54c0be6aa429b64d390e442f8d0",
    "swap_obj": "073cdb8e253d053614e80710834d9773b09dbc1dd0a412f6f9492262caa1dcad",
}
"""The sha256 of each file, by its published name."""


def read(collector: ItemCollector) -> None:
    """The items of some or all of the seven files, or of a table."""
    for file in collector.files:
        if suffix(file) in TABLE_KINDS:
            collector.each(table_rows(file, COLUMNS), add_row)
            continue
        if _part(file) not in FILES:
            raise BadInput(
                f"the name of {file.name} does not say which kind of near miss it contains",
                where=str(file),
                allowed=", ".join(f"{part}.json" for part in FILES),
                todo="give the file its published name",
            )
        collector.each(entry_rows(file, json_object(file, FORM)), add)


def _part(file: Path) -> str:
    return file.name.partition(".")[0]


def add(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a row."""
    part = _part(row.file)
    edit, _, subtype = part.partition("_")
    image = collector.coco(row, row.text("filename"))
    captions = (row.text("caption"), row.text("negative_caption"))
    kind = f"{edit}-{SUBTYPES[subtype]}"
    collector.add_choice(row, f"{part}/{row.key}", image, captions, kind=kind)


def add_row(collector: ItemCollector, row: SourceRow) -> None:
    """The item of a table's row."""
    image = collector.coco(row, row.text("filename"))
    captions = (row.text("caption"), row.text("negative_caption"))
    source_id = f"{name_of(row.file)}/{row.number}"
    collector.add_choice(row, source_id, image, captions, kind=row_kind(row))


IMPORTER = Importer(
    name="sugarcrepe",
    about="SugarCrepe: which caption fits the image, the other wrong in one detail (JSON, table)",
    read=read,
    endings=("json", *TABLE_KINDS),
    page="https://github.com/RAIVNLab/sugar-crepe",
    licence="MIT",
    citation="Cheng-Yu Hsieh, Jieyu Zhang, Zixian Ma, Aniruddha Kembhavi, Ranjay Krishna: "
    "SugarCrepe: Fixing Hackable Benchmarks for Vision-Language Compositionality. NeurIPS 2023",
    verified="by its authors, who removed negative captions that are true by hand",
    sources=tuple(PublishedFile(f"{ADDRESS}/{name}.json", sha) for name, sha in FILES.items()),
)
