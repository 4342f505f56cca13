"""A corpus: images, their captions, and their objects if known.

The toolkit's own format is a folder: `corpus.json` (the card), `images.parquet` (id, uri, sha256,
width, height, objects), `captions.parquet` (id, image, text). Readers read other formats (see
`reader.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from tellapart.errors import BadInput, Problems
from tellapart.files import can_be_written, whole_folder, write_json, write_parquet
from tellapart.items import Image
from tellapart.pictures import Picture, moved_uris

SCHEMA = "tellapart-corpus-1"
IMAGE_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "uri": pl.String,
    "sha256": pl.String,
    "width": pl.Int32,
    "height": pl.Int32,
    "objects": pl.List(pl.String),
}
CAPTION_COLUMNS = {"id": pl.String, "image": pl.String, "text": pl.String}


@dataclass(frozen=True, eq=False)
class Corpus:
    """Images and captions as two tables; uris are relative to the folder `root`.

    Its length is the number of images; iterating over it yields their pictures.

    `objects` is null for an image whose content is unknown, and an empty list for one that shows
    nothing of interest. `skipped` lists what `skip_bad` left out.
    """

    name: str
    root: Path
    images: pl.DataFrame
    captions: pl.DataFrame
    about: Mapping[str, Any] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()

    def image(self, image_id: str) -> Image:
        """One image by its id."""
        row = self._image_rows[image_id]
        return Image(*row[:5])

    def picture(self, image_id: str) -> Picture:
        """One image, ready to be opened."""
        return Picture(self.image(image_id), self.root)

    def objects(self, image_id: str) -> frozenset[str] | None:
        """The categories in an image, or None if they are unknown."""
        listed = self._image_rows[image_id][5]
        return None if listed is None else frozenset(listed)

    @cached_property
    def texts_by_image(self) -> dict[str, list[str]]:
        """The captions of each image, in the corpus's order."""
        together = self.captions.group_by("image", maintain_order=True).agg("text")
        return dict(together.iter_rows())

    @cached_property
    def _image_rows(self) -> dict[str, tuple[Any, ...]]:
        return {row[0]: row for row in self.images.select(list(IMAGE_COLUMNS)).iter_rows()}

    def __len__(self) -> int:
        return self.images.height

    def __iter__(self) -> Iterator[Picture]:
        return (self.picture(image_id) for image_id in self.images["id"])

    def __str__(self) -> str:
        return f"{self.name}: {self.images.height:,} images, {self.captions.height:,} captions"

    def __repr__(self) -> str:
        return f"<Corpus {self}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(image_id)}</td>"
            f"<td>{'<br>'.join(map(escape, self.texts_by_image.get(image_id, [])))}</td></tr>"
            for image_id in self.images["id"][:5]
        )
        head = "<tr><th>image</th><th>captions</th></tr>"
        return f"<p>{escape(str(self))}</p><table>{head}{rows}</table>"


def make_corpus(
    name: str,
    root: Path,
    images: Iterable[Mapping[str, Any]],
    captions: Iterable[Mapping[str, Any]],
    *,
    problems: Problems | None = None,
    about: Mapping[str, Any] | None = None,
) -> Corpus:
    """Check rows from any reader and make a corpus of them.

    Image rows have `id`, `uri` and any others of `IMAGE_COLUMNS`; caption rows have `id`, `image`,
    `text`, and `where` for messages. Problems are captions that are empty or not text, duplicate
    ids, and captions whose image is not in the corpus.
    """
    problems = Problems() if problems is None else problems
    image_rows = _checked_images(images, problems)
    caption_rows = _checked_captions(captions, image_rows, problems)
    problems.settle()
    if not caption_rows:
        raise BadInput(
            f"{name} has no captions" + (" left" if len(problems) else ""),
            where=str(root),
            allowed="at least one image with a caption",
        )
    return Corpus(
        name,
        root,
        pl.DataFrame(list(image_rows.values()), schema=IMAGE_COLUMNS, orient="row"),
        pl.DataFrame(caption_rows, schema=CAPTION_COLUMNS, orient="row"),
        about or {},
        tuple(problem.what for problem in problems),
    )


def _checked_images(
    rows: Iterable[Mapping[str, Any]], problems: Problems
) -> dict[str, tuple[Any, ...]]:
    checked: dict[str, tuple[Any, ...]] = {}
    for row in rows:
        if row["id"] in checked:
            problem = BadInput(
                f"the image id {row['id']!r} occurs twice", allowed="one row per image"
            )
        elif not can_be_written(row["id"], row["uri"], *(row.get("objects") or ())):
            problem = BadInput(
                f"the name of image {row['id']!a}, or of an object, is not Unicode text",
                allowed="names that UTF-8 can encode",
                todo="rename the file or the object",
            )
        else:
            checked[row["id"]] = tuple(row.get(column) for column in IMAGE_COLUMNS)
            continue
        problem.where = str(row.get("where", row["uri"]))
        problems.add(problem)
    return checked


def _checked_captions(
    rows: Iterable[Mapping[str, Any]], images: Mapping[str, Any], problems: Problems
) -> list[tuple[str, str, str]]:
    checked: dict[str, tuple[str, str, str]] = {}
    for row in rows:
        caption_id, image_id, text = row["id"], row["image"], row["text"]
        problem = _caption_problem(caption_id, image_id, text, images, checked)
        if problem is None:
            checked[caption_id] = caption_id, image_id, text
        else:
            problem.where = str(row.get("where", ""))
            problems.add(problem)
    return list(checked.values())


def _caption_problem(
    caption_id: str, image_id: str, text: object, images: Mapping[str, Any], seen: Mapping[str, Any]
) -> BadInput | None:
    if not isinstance(text, str):
        shown = "missing" if text is None else f"{type(text).__name__} ({text!r}), not text"
        return BadInput(
            f"caption {caption_id} is {shown}", allowed="text", todo="write the caption as text"
        )
    if not text.strip():
        return BadInput(
            f"caption {caption_id} is empty", allowed="text", todo="write it or remove the row"
        )
    if not can_be_written(text, caption_id):
        return BadInput(
            f"caption {caption_id!a} has a character that is not Unicode: {text!a}",
            allowed="text that UTF-8 can encode",
            todo="rewrite the caption",
        )
    if caption_id in seen:
        return BadInput(f"the caption id {caption_id!r} occurs twice", allowed="every id once")
    if image_id not in images:
        return BadInput(
            f"caption {caption_id} belongs to image {image_id}, which is not in the corpus",
            allowed="captions of listed images",
        )
    return None


def write_corpus(corpus: Corpus, out: Path) -> None:
    """Write a corpus in the toolkit's own format into an unfinished folder.

    Paths of pictures outside the folder are stored relative to it.
    """
    uris = moved_uris(corpus.images["uri"], corpus.root, out)
    write_parquet(out / "images.parquet", corpus.images.with_columns(uri=pl.Series(uris)))
    write_parquet(out / "captions.parquet", corpus.captions)
    card = {
        "schema": SCHEMA,
        "name": corpus.name,
        "images": corpus.images.height,
        "captions": corpus.captions.height,
        "about": dict(corpus.about),
        "skipped": list(corpus.skipped),
    }
    write_json(out / "corpus.json", card)


def save_corpus(corpus: Corpus, out: Path, *, overwrite: bool = False) -> None:
    """Write a corpus in the toolkit's own format, completely or not at all."""
    with whole_folder(out, overwrite=overwrite) as partial:
        write_corpus(corpus, partial)
