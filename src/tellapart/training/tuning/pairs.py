"""Training pairs: a picture and its caption, and optionally a false caption and its picture.

They come from a corpus (captions alone), from a benchmark (its items' false captions, and the
pictures that these are true of), or from files in other trainers' formats (`pair_files.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark, is_benchmark, load_benchmark
from tellapart.benchmark.groups import components
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput
from tellapart.files import can_be_written
from tellapart.items import Item
from tellapart.pictures import Picture
from tellapart.types import Bools

COLUMNS = {
    "image": pl.String,
    "title": pl.String,
    "neg_title": pl.String,
    "neg_image": pl.String,
    "kind": pl.String,
    "origin": pl.String,
}
"""The columns of pairs: ids of pictures, texts, the kind of near miss, and the row's origin."""
NEGATIVES = ("none", "texts", "images")
"""Which negatives a training uses: none, false captions, or these with their pictures."""
PairRow = tuple[str, str, str | None, str | None, str, str]


@dataclass(frozen=True, eq=False)
class TrainingPairs:
    """Rows of pairs, and the pictures that they name by id; its length is the number of rows.

    `about` goes with everything made from them: licence, citation, how it was built.
    """

    name: str
    rows: pl.DataFrame
    pictures: Mapping[str, Picture]
    about: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.rows.height

    @property
    def images(self) -> list[str]:
        """The ids of all pictures that rows name, sorted."""
        named = pl.concat([self.rows["image"], self.rows["neg_image"].drop_nulls()])
        return sorted(named.unique().to_list())

    @property
    def sha256(self) -> str:
        """The hash of the training data: texts, and pictures as far as they are known."""
        known = [(one, self.pictures[one].image.sha256 or "") for one in self.images]
        return seeds.digest(list(self.rows.iter_rows()), known)

    def where(self, keep: Bools) -> TrainingPairs:
        """The pairs with only some of the rows."""
        return TrainingPairs(
            self.name, self.rows.filter(pl.Series(keep)), self.pictures, self.about
        )

    def having(self, negatives: str) -> TrainingPairs:
        """The rows with the negatives that a training needs; raises if there are none."""
        if negatives == "none":
            return self
        there = self.rows["neg_title"].is_not_null()
        if negatives == "images":
            there &= self.rows["neg_image"].is_not_null()
        if not there.any():
            what = "false captions" if negatives == "texts" else "false captions with pictures"
            raise BadInput(
                f"{self.name} has no {what}, which this recipe needs",
                allowed="a benchmark of build negatives (texts) or build bivlc (texts and "
                "images), or a table with filepath, title, neg_title, neg_filepath",
                todo="build some: tellapart build negatives CORPUS OUT, or use --recipe coco",
            )
        return self.where(there.to_numpy())


def make_pairs(
    name: str,
    rows: Iterable[PairRow],
    pictures: Mapping[str, Picture],
    about: Mapping[str, Any] | None = None,
) -> TrainingPairs:
    """Rows from any source, checked."""
    every = list(rows)
    try:
        frame = pl.DataFrame(every, schema=COLUMNS, orient="row")
    except (pl.exceptions.PolarsError, UnicodeEncodeError, TypeError):
        raise _no_text(name, every) from None
    if not frame.height:
        raise BadInput(f"{name} has no pairs to train on", allowed="at least one row")
    empty = frame.filter(frame["title"].fill_null("").str.strip_chars() == "")
    if empty.height:
        raise BadInput(f"a caption of image {empty['image'][0]} in {name} is empty", allowed="text")
    return TrainingPairs(name, frame, pictures, about or {})


def _no_text(name: str, rows: Sequence[PairRow]) -> BadInput:
    """What to say of the first row with something else than text, or text that cannot be kept."""
    for number, row in enumerate(rows, 1):
        for column, value in zip(COLUMNS, row, strict=True):
            if value is not None and not (isinstance(value, str) and can_be_written(value)):
                return BadInput(
                    f"{column} of row {number} in {name} is {value!a:.60}",
                    allowed="text that UTF-8 can encode",
                    todo="correct it, or remove the row",
                )
    return BadInput(f"the pairs in {name} are no table", allowed="rows of texts")


def pairs_of_corpus(corpus: Corpus) -> TrainingPairs:
    """Every caption with its image."""
    rows = (
        (image, text, None, None, "", corpus.name)
        for image, texts in corpus.texts_by_image.items()
        for text in texts
    )
    pictures = {image: corpus.picture(image) for image in corpus.texts_by_image}
    return make_pairs(corpus.name, rows, pictures, dict(corpus.about))


def pairs_of_benchmark(bench: Benchmark) -> TrainingPairs:
    """A row for each false caption of each item's pair, with its picture if the item has one."""
    card = bench.card
    about = {"licence": card.licence, "citation": card.citation, "made": dict(card.made)}
    rows = [row for item in bench for row in _item_rows(item)]
    pictures = {image: bench.picture(image) for image in bench.images}
    return make_pairs(bench.name, rows, pictures, about)


def _item_rows(item: Item) -> list[PairRow]:
    """The original pair before edits (or else the first pair), with its negatives.

    If every caption is true of the original image, an image of which its caption is false is a
    negative without a text.
    """
    image, caption = item.original or min(item.true)
    origin = f"{item.origin.made_by}: {item.id}"
    rows: list[PairRow] = []
    for other, text in enumerate(item.captions):
        if (image, other) in item.true:
            continue
        shown = [i for i in range(len(item.images)) if (i, other) in item.true]
        picture = item.images[shown[0]] if shown else None
        rows.append((item.images[image], item.captions[caption], text, picture, item.kind, origin))
    if rows:
        return rows
    lacking = [one for k, one in enumerate(item.images) if (k, caption) not in item.true]
    alone = lacking[0] if lacking else None
    return [(item.images[image], item.captions[caption], None, alone, item.kind, origin)]


def open_pairs(source: TrainingPairs | Benchmark | Corpus | Path | str) -> TrainingPairs:
    """Pairs from an object, or from the path of any known format."""
    from tellapart.training.tuning.pair_files import read_pair_files, shards_of

    if isinstance(source, TrainingPairs):
        return source
    if isinstance(source, Benchmark):
        return pairs_of_benchmark(source)
    if isinstance(source, Corpus):
        return pairs_of_corpus(source)
    path = Path(source).expanduser()
    if is_benchmark(path):
        return pairs_of_benchmark(load_benchmark(path))
    found = read_pair_files(path) if path.is_file() or shards_of(path) else None
    return found or pairs_of_corpus(read_corpus(path))


def joined_pairs(parts: Sequence[TrainingPairs]) -> TrainingPairs:
    """Several sources as one; an id used for two pictures is split into two ids."""
    if len(parts) == 1:
        return parts[0]
    pictures: dict[str, Picture] = {}
    tables = []
    for number, part in enumerate(parts):
        own = {
            one: one if pictures.get(one, picture) == picture else f"{one}#{number}"
            for one, picture in part.pictures.items()
        }
        pictures |= {own[one]: picture for one, picture in part.pictures.items()}
        renamed = part.rows.with_columns(
            pl.col("image").replace(own), pl.col("neg_image").replace(own)
        )
        tables.append(renamed)
    about = {part.name: dict(part.about) for part in parts}
    return TrainingPairs("+".join(part.name for part in parts), pl.concat(tables), pictures, about)


def split_pairs(
    pairs: TrainingPairs, share: float, seed: int
) -> tuple[TrainingPairs, TrainingPairs]:
    """Rows for training, and a share of the pictures held out with all their rows.

    The split is by picture, not by row as BiVLC's authors did: rows that are connected through
    pictures, or through equal ones, stay together.
    """
    if not 0 < share < 1:
        raise BadInput(f"a share of {share} cannot be held out", allowed="between 0 and 1")
    looks = {one: pairs.pictures[one].image.sha256 or one for one in pairs.images}
    number = {look: k for k, look in enumerate(sorted(set(looks.values())))}
    named = pairs.rows.select("image", other=pl.col("neg_image").fill_null(pl.col("image")))
    one, other = (
        np.array([number[looks[image]] for image in named[column]]) for column in named.columns
    )
    groups = components(one, other, len(number))[one]
    distinct = np.unique(groups)
    if len(distinct) < 2:
        raise BadInput(
            f"the pictures of {pairs.name} are all connected, so none can be held out",
            todo="give other pairs for validation with --validation",
        )
    order = seeds.rng(seed, "held out pairs").permutation(len(distinct))
    apart = distinct[order[: max(1, round(share * len(distinct)))]]
    held = np.isin(groups, apart)
    return pairs.where(~held), pairs.where(held)
