"""The images of a benchmark as columns: one row per image, read as `Image` objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from tellapart.items import Image
from tellapart.pictures import moved_uris

IMAGE_COLUMNS = {
    "id": pl.String, "uri": pl.String, "sha256": pl.String, "width": pl.Int32, "height": pl.Int32,
}  # fmt: skip


class ImageTable(Mapping[str, Image]):
    """Images by id: a Polars frame with `IMAGE_COLUMNS` and unique ids."""

    def __init__(self, frame: pl.DataFrame) -> None:
        if frame["id"].n_unique() < frame.height:
            frame = frame.unique("id", keep="last", maintain_order=True)
        self.frame = frame

    @classmethod
    def of(cls, images: Iterable[Image] | Mapping[str, Image]) -> ImageTable:
        """A table of images; if an id occurs more than once, the last image counts."""
        if isinstance(images, ImageTable):
            return images
        rows = list(images.values() if isinstance(images, Mapping) else images)
        return cls.of_columns(*([getattr(image, name) for image in rows] for name in IMAGE_COLUMNS))

    @classmethod
    def of_columns(cls, *columns: Sequence[str | int | None]) -> ImageTable:
        """A table of columns in the order of `IMAGE_COLUMNS`; the last ones may be omitted."""
        names = list(IMAGE_COLUMNS)
        given = dict(zip(names, columns, strict=False))
        blank = [pl.lit(None, IMAGE_COLUMNS[name]).alias(name) for name in names[len(given) :]]
        schema = {name: IMAGE_COLUMNS[name] for name in given}
        return cls(pl.DataFrame(given, schema).with_columns(blank))

    @property
    def ids(self) -> pl.Series:
        """The ids."""
        return self.frame["id"]

    @cached_property
    def _place(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ids)}

    def __getitem__(self, image_id: str) -> Image:
        return Image(*self.frame.row(self._place[image_id]))

    def place_of(self, image_id: str) -> int:
        """The row of an image."""
        return self._place[image_id]

    def __contains__(self, image_id: object) -> bool:
        return image_id in self._place

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return self.frame.height

    def __repr__(self) -> str:
        return f"<ImageTable: {len(self):,} images>"

    def named(self, ids: pl.Series) -> ImageTable:
        """The images with some ids, sorted by id."""
        return ImageTable(self.frame.filter(self.ids.is_in(ids.implode())).sort("id"))

    def moved(self, root: Path, folder: Path) -> ImageTable:
        """The same images, with paths relative to `folder` instead of `root`."""
        uris = pl.Series("uri", moved_uris(self.frame["uri"], root, folder), pl.String)
        return ImageTable(self.frame.with_columns(uris))
