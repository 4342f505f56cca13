"""Opening pictures: from files, archives and Parquet tables, with clear errors."""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from tellapart.addresses import address_of, from_here, from_there
from tellapart.errors import BadImage, BadInput
from tellapart.items import Image
from tellapart.remote import WEB, ensure, is_there, read

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

MAX_PIXELS = 100_000_000
"""Pictures with more pixels than this are refused."""

BLOCK = 64
"""How many pictures in a table are read at a time."""

FRAGMENTS = ("#column=", "#crop=", "#bytes=")
CROP = re.compile(r"crop=(\d+),(\d+),(\d+),(\d+)")

Box = tuple[int, int, int, int]
"""Part of a picture: left, top, width, height in pixels."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image with the folder that its path is relative to; models get these."""

    image: Image
    root: Path

    @property
    def id(self) -> str:
        """The image's id."""
        return self.image.id

    @property
    def path(self) -> Path:
        """The file that contains the picture, which may be a table."""
        return Path(os.path.normpath(from_there(split_uri(self.image.uri)[0], self.root)))

    @property
    def place(self) -> str:
        """Where the picture is: its file, or its address elsewhere."""
        uri = split_uri(self.image.uri)[0]
        return uri if "://" in uri else address_of(self.path) or str(self.path)

    @property
    def address(self) -> str | None:
        """The address that the picture may be read from; None where it is on this machine.

        An address of the web that stands in a table is not followed, unless the table comes from
        there: what others wrote does not make this machine call anybody.
        """
        address = address_of(self.path)
        if address is None or not address.startswith(WEB):
            return address
        own = address_of(self.root) or ""
        return address if address.split("/")[:3] == own.split("/")[:3] else None

    def is_there(self) -> bool:
        """Whether its file is on this machine or at an address, without checking its content."""
        if self.address is not None:
            return self.path.is_file() or is_there(self.address)
        # os.path, unlike Path, returns False for names that no file system allows.
        return "://" not in self.place and os.path.isfile(self.path)  # noqa: PTH113

    def read(self) -> bytes:
        """The picture's stored bytes."""
        uri, fragment = split_uri(self.image.uri)
        address = self.address
        if "://" in uri and address is None:
            raise BadImage(
                f"image {self.id} is not on this machine",
                where=uri,
                todo="download the images and give their folder with --images",
            )
        if fragment.startswith("column="):
            return _bytes_in_table(self.path, fragment, self.id)
        try:
            if address is not None:
                return read(address, *_range(fragment))
            if fragment.startswith("bytes="):
                return _bytes_in_file(self.path, fragment)
            return self.path.read_bytes()
        except FileNotFoundError:
            raise BadImage(
                f"the file of image {self.id} is missing",
                where=self.place,
                todo="put the file there, or give its folder with --images",
            ) from None
        except (OSError, ValueError) as error:  # ValueError: the name contains NUL
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise BadImage(
                f"the file of image {self.id} cannot be read: {reason}", where=str(self.path)
            ) from None

    def stored_sha256(self) -> str:
        """The hash of the bytes as currently stored."""
        return hashlib.sha256(self.read()).hexdigest()

    def open_unchanged(self) -> PILImage:
        """The pixels; raises if the bytes do not have the image's recorded hash (if any)."""
        data = self.read()
        if self.image.sha256 and hashlib.sha256(data).hexdigest() != self.image.sha256:
            raise BadImage(
                f"image {self.id} has changed",
                where=str(self.path),
                allowed=f"sha256 {self.image.sha256}",
                todo="restore the original picture",
            )
        return self._pixels(data)

    def open(self) -> PILImage:
        """The pixels as RGB, fully decoded (a truncated file is an error)."""
        return self._pixels(self.read())

    def open_reduced(self, side: int) -> PILImage:
        """The whole picture as RGB, possibly smaller than stored.

        A JPEG is decoded at a fraction of its size, as long as both sides stay above `side`, which
        is much faster.
        """
        picture = self._opened(self.read())
        picture.draft("RGB", (side, side))
        try:
            return picture.convert("RGB")
        except Exception as error:  # Pillow raises many kinds for broken files
            raise self._broken(error) from None

    def _pixels(self, data: bytes) -> PILImage:
        picture = self._opened(data)
        try:
            picture.load()
        except Exception as error:  # Pillow raises many kinds for broken files
            raise self._broken(error) from None
        box = crop_box(split_uri(self.image.uri)[1])
        if box is None:
            return picture.convert("RGB")
        x, y, width, height = box
        right, bottom = min(x + width, picture.width), min(y + height, picture.height)
        if x >= right or y >= bottom:
            raise BadImage(
                f"the box of image {self.id} is outside the picture",
                where=str(self.path),
                allowed=f"a box within {picture.width} x {picture.height} pixels",
            )
        return picture.convert("RGB").crop((x, y, right, bottom))

    def metadata(self) -> dict[str, Any]:
        """The metadata of a PNG file (the built-in world stores its scenes there)."""
        return {str(key): value for key, value in self._opened(self.read()).info.items()}

    def _opened(self, data: bytes) -> PILImage:
        from PIL import Image as Pillow

        try:
            picture = Pillow.open(io.BytesIO(data))
        except Exception as error:
            raise self._broken(error) from None
        if picture.width * picture.height > MAX_PIXELS:
            raise BadImage(
                f"image {self.id} has {picture.width} x {picture.height} pixels",
                where=str(self.path),
                allowed=f"at most {MAX_PIXELS:,} pixels",
            )
        return picture

    def _broken(self, error: Exception) -> BadImage:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "cannot identify" in reason:
            reason = "not a picture format that Pillow supports"
        return BadImage(
            f"image {self.id} is broken: {reason}",
            where=str(self.path),
            allowed="an intact picture file (JPEG, PNG, WebP, GIF, BMP, TIFF)",
            todo="get the file again, or skip it with --skip-bad",
        )


def split_uri(uri: str) -> tuple[str, str]:
    """A path and its fragment: a place in a table or archive, or a box.

    >>> split_uri("train.parquet#column=image&row=3"), split_uri("pair #2.jpg")
    (('train.parquet', 'column=image&row=3'), ('pair #2.jpg', ''))
    >>> split_uri("7.jpg#crop=10,20,64,48")
    ('7.jpg', 'crop=10,20,64,48')
    """
    for mark in FRAGMENTS:
        path, found, rest = uri.partition(mark)
        if found:
            return path, found[1:] + rest
    return uri, ""


def moved_uris(uris: Iterable[str], root: Path, folder: Path) -> list[str]:
    """Paths relative to one folder, rewritten for another; paths inside the other are unchanged."""
    known: dict[str, str] = {}
    # Paths that begin with ".." are outside, even if they happen to lead to another picture.
    inside = {"", ".", *(path.name for path in folder.iterdir())} if folder.is_dir() else set()
    moved = []
    for uri in uris:
        path, fragment = split_uri(uri) if "#" in uri else (uri, "")
        # Check the disk only for paths that start with a name inside; checking all would be slow.
        inner = path.partition("/")[0] in inside
        there = inner and os.path.exists(os.path.join(folder, path))  # noqa: PTH110, PTH118
        if there or "://" in uri:
            moved.append(uri)
            continue
        head, slash, name = path.rpartition("/")
        head = head or slash
        if head not in known:
            known[head] = from_here(root / head, folder)
        moved.append(f"{known[head]}/{name}" + (f"#{fragment}" if fragment else ""))
    return moved


def crop_box(fragment: str) -> Box | None:
    """The part of the picture to use; None for all of it."""
    match = CROP.fullmatch(fragment)
    if match is None:
        return None
    x, y, width, height = (int(number) for number in match.groups())
    return x, y, width, height


def _bytes_in_file(path: Path, fragment: str) -> bytes:
    """Part of a file, such as a member of an archive: `bytes=OFFSET,SIZE`."""
    first, end = _range(fragment)
    with path.open("rb") as file:
        file.seek(first or 0)
        return file.read((end or 0) - (first or 0))


def _range(fragment: str) -> tuple[int | None, int | None]:
    """The first byte and the one behind the last; None where the whole file is meant."""
    if not fragment.startswith("bytes="):
        return None, None
    offset, size = map(int, fragment.removeprefix("bytes=").split(","))
    return offset, offset + size


def _bytes_in_table(path: Path, fragment: str, image_id: str) -> bytes:
    wanted = parse_qs(fragment)
    column, row = wanted["column"][0], int(wanted["row"][0])
    block = _block(path, column, row // BLOCK)
    value = block[row % BLOCK] if row % BLOCK < len(block) else None
    if isinstance(value, list):  # all pictures of an item
        place = int(wanted.get("place", ["0"])[0])
        value = value[place] if place < len(value) else None
    if isinstance(value, dict):  # how Hugging Face datasets store images
        value = value.get("bytes")
    if not isinstance(value, bytes):
        raise BadImage(
            f"image {image_id} has no bytes in the table",
            where=f"{path}, column {column}, row {row}",
        )
    return value


@lru_cache(maxsize=4)
def _block(path: Path, column: str, number: int) -> list[Any]:
    """`BLOCK` rows of a column; a whole column of pictures may not fit into memory."""
    import polars as pl

    from tellapart.parquet import whole_parquet

    ensure(path)
    if not path.exists():
        raise BadImage("the table with the images is missing", where=str(path))
    try:
        with whole_parquet(path):
            packed = path.suffix.lower() == ".gz"
            scan = pl.scan_parquet(io.BytesIO(_unpacked(path)) if packed else path)
            block = scan.select(column).slice(number * BLOCK, BLOCK).collect()
            return block[column].to_list()
    except BadInput as error:
        raise BadImage(
            f"the table with the images cannot be read: {error.what}",
            where=f"{path}, column {column}",
        ) from None


@lru_cache(maxsize=1)
def _unpacked(path: Path) -> bytes:
    from tellapart.files import read_bytes

    return read_bytes(path)
