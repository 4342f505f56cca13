"""A folder of pictures, each with its captions in a text file of the same name."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from tellapart.corpus.coco import with_objects
from tellapart.corpus.corpus import CAPTION_COLUMNS, IMAGE_COLUMNS, Corpus, make_corpus
from tellapart.corpus.reader import DEFAULTS, ReadOptions, name_of, read_corpus, reader_of
from tellapart.errors import BadInput, Problems
from tellapart.files import read_text
from tellapart.remote import names_below

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
TEXTS = (".txt", ".txt.gz")


class FolderReader:
    """Reads pictures with NAME.txt beside them, one caption per line, including subfolders.

    An image's id is its path in the folder; its captions are `ID#0`, `ID#1`, ...
    """

    about = "a folder of pictures with NAME.txt beside each (one caption per line)"

    def fits(self, path: Path) -> bool:
        """Whether this is a folder."""
        return path.is_dir()

    def read(self, path: Path, options: ReadOptions) -> Corpus:
        """Read a folder, in the order of the images' ids."""
        if options.images is not None:
            raise BadInput(
                "a folder of pictures has its captions beside the pictures",
                where=str(path),
                allowed="no other folder of images",
                todo="omit --images (images=...), or name the file with the captions",
            )
        problems = Problems(skip=options.skip_bad)
        images: list[dict[str, Any]] = []
        captions: list[dict[str, Any]] = []
        files = _files(path)
        for name in _pictures(files, path):
            try:
                captions += _captions(name, files, path)
            except BadInput as problem:
                problems.add(problem)
            else:
                images.append({"id": name, "uri": name})
        about = {"format": "folder", "folder": name_of(path)}
        corpus = make_corpus(name_of(path), path, images, captions, problems=problems, about=about)
        return with_objects(corpus, options.objects)


def read_pictures(path: Path | str, options: ReadOptions = DEFAULTS) -> Corpus:
    """The images of a corpus, or all pictures of a folder, which need no captions."""
    path = Path(path)
    if not (path.is_dir() and isinstance(reader_of(path), FolderReader)):
        return read_corpus(path, options)
    names = _pictures(_files(path), path)
    rows = [{"id": name, "uri": name} for name in names]
    images = pl.DataFrame(rows, schema=IMAGE_COLUMNS)
    about = {"format": "folder", "folder": name_of(path)}
    return Corpus(name_of(path), path, images, pl.DataFrame(schema=CAPTION_COLUMNS), about)


def _files(folder: Path) -> set[str]:
    """The posix paths of all files inside, except hidden ones."""
    there = names_below(folder)
    if there is not None:
        return set(there)
    files: set[str] = set()
    for inside, subfolders, names in os.walk(folder):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        place = Path(inside).relative_to(folder)
        files.update((place / name).as_posix() for name in names if not name.startswith("."))
    return files


def _pictures(files: set[str], folder: Path) -> list[str]:
    pictures = sorted(name for name in files if name.lower().endswith(PICTURES))
    if not pictures:
        raise BadInput(
            f"the folder {folder.name or folder} contains no pictures",
            where=str(folder.absolute()),
            allowed=" ".join(PICTURES) + ", each with NAME.txt beside it",
            todo="name another folder, or the file with the captions",
        )
    return pictures


def _captions(picture: str, files: set[str], folder: Path) -> list[dict[str, Any]]:
    stem = PurePosixPath(picture).with_suffix("").as_posix()
    text = next((stem + ending for ending in TEXTS if stem + ending in files), None)
    if text is None:
        raise BadInput(
            f"the picture {picture} has no {PurePosixPath(stem).name}.txt beside it",
            where=str(folder / picture),
            allowed="a text file with one caption per line, .txt or .txt.gz",
            todo="write the captions into that file",
        )
    lines = [
        (number, line.strip())
        for number, line in enumerate(read_text(folder / text).split("\n"), 1)
        if line.strip()
    ]
    # A file without captions yields one empty caption, which is then reported as the problem.
    return [
        {
            "id": f"{picture}#{k}",
            "image": picture,
            "text": line,
            "where": f"{folder / text}, row {number}",
        }
        for k, (number, line) in enumerate(lines or [(1, "")])
    ]


READER = FolderReader()
