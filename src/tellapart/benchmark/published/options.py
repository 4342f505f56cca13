"""What an importer is told, and what it gives back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tellapart.errors import Problems
from tellapart.items import Image, Item


@dataclass(frozen=True, slots=True)
class Columns:
    """What the columns of anyone's table of pairs are called."""

    image: str = "image"
    caption: str = "caption"
    negative_caption: str = "negative_caption"
    negative_image: str = "negative_image"
    kind: str = "kind"
    id: str = "id"


@dataclass(frozen=True, slots=True)
class GetOptions:
    """What may be asked of every importer.

    `images` is the folder in which the picture files lie (else they are looked for beside the
    source files). `keep_order` leaves options in the source's order, which often tells the
    truth's place; `keep_all` keeps what the source's own annotators did not confirm. `alike` writes
    all captions in one form (capital, lower case, final stop), so that form gives nothing away.
    """

    images: Path | None = None
    only_with_images: bool = False
    drop_duplicates: bool = False
    keep_order: bool = False
    keep_all: bool = False
    alike: bool = False
    seed: int = 0
    name: str = ""
    skip_bad: bool = False
    overwrite: bool = False
    columns: Columns = Columns()

    def for_card(self) -> dict[str, Any]:
        """What of this bears on the items that come out."""
        return {
            "only_with_images": self.only_with_images,
            "drop_duplicates": self.drop_duplicates,
            "keep_order": self.keep_order,
            "keep_all": self.keep_all,
            "alike": self.alike,
            "seed": self.seed,
            "skip_bad": self.skip_bad,
        }


@dataclass(frozen=True, slots=True)
class Imported:
    """What an importer read.

    `root` is the folder that the images' paths are relative to, `found` the ids of those whose
    files are there; `facts` go into the card. `verified`, where it is not empty, says more
    than the importer's own line.
    """

    items: tuple[Item, ...]
    images: Mapping[str, Image]
    root: Path
    found: frozenset[str]
    problems: Problems
    facts: Mapping[str, Any] = field(default_factory=dict)
    verified: str = ""
