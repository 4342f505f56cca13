"""What every importer can be told; importing this imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tellapart.options import CopyImages, Help, Overwrite, Seed, SkipBad


@dataclass(frozen=True, slots=True)
class PairColumns:
    """What the columns of anyone's table of pairs are called."""

    image: str = "image"
    caption: str = "caption"
    negative_caption: str = "negative_caption"
    negative_image: str = "negative_image"
    kind: str = "kind"
    id: str = "id"


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOptions:
    """What may be asked of every importer.

    Without `images` pictures are looked for beside the source files. `keep_order` leaves options
    in the source's order, which often tells the truth's place.
    """

    images: Annotated[Path | None, Help("Folder that holds the pictures.")] = None
    only_with_images: Annotated[bool, Help("Only items all of whose pictures are found.")] = False
    drop_duplicates: Annotated[
        bool, Help("Leave out items that ask the same as an earlier one.")
    ] = False
    keep_order: Annotated[bool, Help("Do not shuffle options.")] = False
    keep_all: Annotated[
        bool, Help("valse: also what its annotators did not confirm.", flag="--all")
    ] = False
    alike: Annotated[bool, Help("Write all captions in one form: capital, final stop.")] = False
    columns: Annotated[
        PairColumns,
        Help(
            "pairs: what a column is called, such as negative_caption=foil.",
            flag="--column",
            metavar="OURS=YOURS",
            repeat=True,
        ),
    ] = PairColumns()
    layout: Annotated[Path | None, Help("table: a YAML file that says what the columns hold.")] = (
        None
    )
    images_columns: Annotated[
        tuple[str, ...], Help("table: the columns of images, separated by commas.")
    ] = ()
    captions_columns: Annotated[
        tuple[str, ...], Help("table: the columns of captions, separated by commas.")
    ] = ()
    true: Annotated[
        str,
        Help(
            "table: what is true: first, diagonal, cells such as 0:0,0:1 (image:caption), a column "
            "with the place of the true caption, or a column a cell that says yes or no: a,b;c,d.",
            metavar="RULE",
        ),
    ] = ""
    kind_column: Annotated[str, Help("table: the column of kinds.")] = ""
    id_column: Annotated[str, Help("table: the column of ids.")] = ""
    copy_images: CopyImages = False
    seed: Seed = 0
    name: Annotated[str, Help("The benchmark's name (default: its source's).")] = ""
    skip_bad: SkipBad = False
    overwrite: Overwrite = False

    def for_card(self) -> dict[str, Any]:
        """What of this bears on the items that come out."""
        names = ("only_with_images", "drop_duplicates", "keep_order", "keep_all", "alike", "seed",
                 "skip_bad")  # fmt: skip
        return {name: getattr(self, name) for name in names}
