"""Options of every importer; importing this module imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tellapart.options import CopyImages, Help, Overwrite, Seed, SkipBad


@dataclass(frozen=True, slots=True)
class PairColumns:
    """The names of the columns in a user's table of pairs."""

    image: str = "image"
    caption: str = "caption"
    negative_caption: str = "negative_caption"
    negative_image: str = "negative_image"
    kind: str = "kind"
    id: str = "id"


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOptions:
    """Options of every importer.

    Without `images`, pictures are searched for beside the source files. `keep_order` keeps the
    source's order of options, which often gives away the true one.
    """

    images: Annotated[Path | None, Help("Folder with the pictures.")] = None
    only_with_images: Annotated[bool, Help("Only items whose pictures are all found.")] = False
    drop_duplicates: Annotated[bool, Help("Drop items that duplicate an earlier one.")] = False
    keep_order: Annotated[bool, Help("Do not shuffle the options.")] = False
    keep_all: Annotated[
        bool, Help("valse: also keep pairs that its annotators did not confirm.", flag="--all")
    ] = False
    alike: Annotated[bool, Help("Normalise all captions: initial capital, final full stop.")] = (
        False
    )
    columns: Annotated[
        PairColumns,
        Help(
            "pairs: the name of a column, such as negative_caption=foil.",
            flag="--column",
            metavar="OURS=YOURS",
            repeat=True,
        ),
    ] = PairColumns()
    layout: Annotated[Path | None, Help("table: YAML file that describes the columns.")] = None
    images_columns: Annotated[
        tuple[str, ...], Help("table: image columns, separated by commas.")
    ] = ()
    captions_columns: Annotated[
        tuple[str, ...], Help("table: caption columns, separated by commas.")
    ] = ()
    true: Annotated[
        str,
        Help(
            "table: what is true: first, diagonal, cells such as 0:0,0:1 (image:caption), a column "
            "with the number of the true caption, or a yes/no column for each cell: a,b;c,d.",
            metavar="RULE",
        ),
    ] = ""
    kind_column: Annotated[str, Help("table: column with the kinds.")] = ""
    id_column: Annotated[str, Help("table: column with the ids.")] = ""
    copy_images: CopyImages = False
    seed: Seed = 0
    name: Annotated[str, Help("Name of the benchmark (default: its source's).")] = ""
    skip_bad: SkipBad = False
    overwrite: Overwrite = False

    def for_card(self) -> dict[str, Any]:
        """The options that affect the resulting items, for the card."""
        names = ("only_with_images", "drop_duplicates", "keep_order", "keep_all", "alike", "seed",
                 "skip_bad")  # fmt: skip
        return {name: getattr(self, name) for name in names}
