"""Flickr8k and Flickr30k token files: lines of `name.jpg#0`, a tab, and a caption."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tellapart.corpus.coco import with_objects
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.corpus.reader import ReadOptions, file_head, name_of, picture_folder
from tellapart.errors import BadInput, Problems
from tellapart.files import read_text, suffix

LINE = re.compile(r"(\S.*)#\d+\t")
FOLDERS = ("images", "Images", "Flickr8k_Dataset")
"""Usual folders of the pictures, beside the token file."""


class FlickrReader:
    """Reads token files, plain or gzipped; an image's id is its file name."""

    about = "Flickr token file: lines of name.jpg#0, a tab, a caption (.token .txt)"

    def fits(self, path: Path) -> bool:
        """Whether the first non-blank line looks like a token file's."""
        if suffix(path) not in ("token", "txt") or not path.is_file():
            return False
        first = next((line for line in file_head(path).split("\n") if line.strip()), "")
        return LINE.match(first) is not None

    def read(self, path: Path, options: ReadOptions) -> Corpus:
        """Read a token file."""
        problems = Problems(skip=options.skip_bad)
        captions = list(_captions(path, problems))
        names = dict.fromkeys(row["image"] for row in captions)
        corpus = make_corpus(
            name_of(path),
            picture_folder(path, options, *FOLDERS),
            ({"id": name, "uri": name} for name in names),
            captions,
            problems=problems,
            about={"format": "flickr", "file": path.name},
        )
        return with_objects(corpus, options.objects)


def _captions(path: Path, problems: Problems) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        where = f"{path}, row {number}"
        match = LINE.match(line)
        if match is None:
            problems.add(
                BadInput(
                    f"row {number} of {path.name} is not an image, a tab and a caption",
                    where=where,
                    allowed="name.jpg#0, a tab, a caption",
                    todo="fix or remove the line",
                )
            )
            continue
        caption_id, _, text = line.rstrip("\r").partition("\t")
        yield {"id": caption_id, "image": match[1], "text": text, "where": where}


READER = FlickrReader()
