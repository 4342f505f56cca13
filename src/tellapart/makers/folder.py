"""`folder:`: pictures made elsewhere, by hand, on a cluster, or with any program."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from tellapart.errors import BadInput
from tellapart.files import write_text
from tellapart.items import Image
from tellapart.makers.maker import ImageRequest, MadeImage, MakerInfo, maker_name, png
from tellapart.pictures import Picture

ENDINGS = ("png", "jpg", "jpeg", "webp")
LIST = "wanted.csv"


class FolderMaker:
    """Pictures that were made elsewhere: KEY.png or KEY.jpg in a folder, by its wanted.csv."""

    needs: Literal["caption", "picture", "boxes"] = "caption"
    batch = 1

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise BadInput(
                f"the folder {folder} does not exist",
                todo="create it empty: a list of the pictures to make is then written there",
            )
        self.facts = MakerInfo(maker_name("folder", {}, folder))

    def prepare(self, requests: Sequence[ImageRequest]) -> None:
        """Write the list of pictures to make; raises if none of them exists yet."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["key", "caption", "seed"])
        rows.writerows([one.key, one.caption, one.seed] for one in requests)
        write_text(self.folder / LIST, text.getvalue())
        if requests and not any(self._path(one.key) for one in requests):
            raise BadInput(
                f"{self.folder} has none of the {len(requests):,} pictures yet",
                where=str(self.folder / LIST),
                allowed=f"KEY.{ENDINGS[0]} or KEY.{ENDINGS[1]} for each row of {LIST}",
                todo="make them from the captions in that list, then run the same command again",
            )

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """The files of the requests; a missing file counts as refused."""
        return [self._make_one(request.key) for request in requests]

    def _path(self, key: str) -> Path | None:
        paths = (self.folder / f"{key}.{ending}" for ending in ENDINGS)
        return next((path for path in paths if path.is_file()), None)

    def _make_one(self, key: str) -> MadeImage:
        path = self._path(key)
        if path is None:
            return MadeImage(refused="not in the folder")
        picture = Picture(Image(key, path.name), self.folder)
        pixels = picture.open()  # raises an error that names a broken file
        if path.suffix == ".png":
            return MadeImage(picture.read(), "png")
        return MadeImage(picture.read(), "jpg") if path.suffix in (".jpg", ".jpeg") else png(pixels)
