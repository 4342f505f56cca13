"""Reading a corpus in any format: the options, the reader protocol, and choosing a reader.

A plugin adds a format with one object that has `about`, `fits` and `read`, listed under
`tellapart.readers` in its package's entry points.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.files import read_bytes, read_json, read_text, suffix
from tellapart.registry import readers

ORDER = ("corpus", "coco", "flickr", "table", "folder")
"""The built-in readers in the order in which they are tried; plugins come last."""

HEAD = 65_536
"""How many bytes of a file are read to recognise its format."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Options of readers.

    `images` is the folder with the picture files, `objects` a file with the objects in each image;
    the two column names are for tables.
    """

    images: Path | None = None
    objects: Path | None = None
    image_column: str = "image"
    caption_column: str = "caption"
    skip_bad: bool = False


DEFAULTS = ReadOptions()


class Reader(Protocol):
    """Reads one format of corpus."""

    about: str
    """One line that describes the format."""

    def fits(self, path: Path) -> bool:
        """Whether the path looks like this format, judging by its name and first bytes only."""

    def read(self, path: Path, options: ReadOptions) -> Corpus:
        """Read the corpus at a path, without opening any picture."""


def read_corpus(
    path: Path | str, options: ReadOptions = DEFAULTS, format: str | None = None
) -> Corpus:
    """Read a corpus with the named reader, or with the first one that fits."""
    path = Path(path)
    if not path.exists():
        raise BadInput(
            f"there is no file or folder {path.name or path}",
            where=str(path.absolute()),
            allowed=_forms(),
            todo="check the path",
        )
    reader: Reader = readers.get(format) if format is not None else reader_of(path)
    return reader.read(path, options)


def reader_of(path: Path) -> Reader:
    """The first reader that fits a file or folder."""
    for name in _names():
        reader: Reader = readers.get(name)
        if reader.fits(path):
            return reader
    if suffix(path) == "json":
        read_json(path)  # raises a clearer error than the one below if the file is not JSON
    raise BadInput(
        f"{path.name} does not look like any supported corpus format",
        where=str(path),
        allowed=_forms(),
        todo="convert it to one of these; in Python, choose one with read_corpus(path, format=...)",
    )


def _names() -> list[str]:
    installed = readers.names()
    return [name for name in ORDER if name in installed] + [
        name for name in installed if name not in ORDER
    ]


def _forms() -> str:
    return "; ".join(f"{name} = {readers.describe(name)}" for name in _names())


def file_head(path: Path) -> str:
    """The start of a file as text, unzipped if needed; bytes that are not UTF-8 are replaced."""
    try:
        with gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb") as file:
            data = file.read(HEAD)
    except (OSError, EOFError, zlib.error):
        data = read_bytes(path)[:HEAD]  # raises a helpful error
    return data.decode("utf-8-sig", errors="replace")


def name_of(path: Path) -> str:
    """A corpus's name, derived from its file or folder.

    >>> name_of(Path("flickr/captions.token.txt.gz"))
    'captions'
    """
    if path.is_dir():
        return path.resolve().name
    stem = Path(path.name[:-3] if path.name.lower().endswith(".gz") else path.name).stem
    return stem.removesuffix(".token")


def picture_folder(path: Path, options: ReadOptions, *beside: str) -> Path:
    """The folder with the pictures of the corpus in a file.

    It is the one given by the user, else the first of `beside` that exists beside the file, else
    the file's own.
    """
    if options.images is None:
        there = (path.parent / name for name in beside)
        return next((folder for folder in there if folder.is_dir()), path.parent)
    if not options.images.is_dir():
        raise BadInput(
            f"there is no folder {options.images.name or options.images} with images",
            where=str(options.images.absolute()),
            allowed="a folder with the picture files",
            todo="check the path after --images (images=...)",
        )
    return options.images


def listed_ids(files: Iterable[Path | str], known: Collection[str]) -> set[str]:
    """The ids listed in files, one per line; raises for unknown ids."""
    lines = [line.strip() for file in files for line in read_text(Path(file)).split("\n")]
    ids = {line for line in lines if line}
    unknown = sorted(ids - set(known))
    if unknown:
        raise BadInput(
            f"no corpus has an image {unknown[0]!r}"
            + (f" (and {len(unknown) - 1:,} more)" if len(unknown) > 1 else ""),
            where=", ".join(map(str, files)),
        )
    return ids
