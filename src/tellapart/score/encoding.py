"""Encoding: every distinct image, text or pair goes to the model once, in batches set beforehand.

Long lists are worked through in windows, so that what is stored, decoded or written out at a time
stays small; a window is a whole number of batches.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.errors import BadImage
from tellapart.pictures import Picture
from tellapart.score.ahead import Feed
from tellapart.score.cache import Shelf
from tellapart.score.computing import Asker, Batch, Computed, Limits, in_batches
from tellapart.score.plan import Images
from tellapart.score.store import Ints, Keys, Rows

Report = Callable[[str, int, int], None]
"""Told of the phase, how much of it is done, and how much there is."""

WINDOW = 8192
PIECES = re.compile(r"\w+|[^\w\s]")
IN_MEMORY = 256 << 20
"""Bytes of embeddings beyond which they are kept in a temporary file."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """A model with its shelf: gives rows for contents, computing only what is not stored.

    `by_content`: pictures are told apart by their bytes, and read ahead of the model; else the
    model may never look at them, and is left to open them itself.
    """

    model: Any
    limits: Limits
    shelf: Shelf | None = None
    skip_bad: bool = False
    by_content: bool = True
    report: Report = lambda phase, done, total: None

    @property
    def window(self) -> int:
        """How many contents are worked on at a time."""
        return self.limits.batch_size * max(1, WINDOW // self.limits.batch_size)

    def asker(self, kind: str) -> Asker:
        """Who gets the rows of one kind."""
        store = self.shelf.store(kind) if self.shelf else None
        return Asker(self.model.facts.name, kind, self.limits, store, self.skip_bad)

    def images(self, images: Images) -> tuple[Rows, dict[int, BadImage]]:
        """One row an image (NaN for the bad ones), and which are bad."""
        bad = dict(images.bad)
        if bad and not self.skip_bad:
            raise next(iter(bad.values()))
        n = len(images.pictures)
        good = np.array([k for k in range(n) if k not in bad], np.int64)
        asker = self.asker("images")
        rows: Rows | None = None
        for begin in range(0, len(good), self.window):
            part = good[begin : begin + self.window]
            for made in self._window_of_images(asker, images, part, begin):
                places = part[made.batch.places]
                rows = _room(n, made.rows.shape[1]) if rows is None else rows
                if rows.shape[1] == made.rows.shape[1]:
                    rows[places] = made.rows
                bad |= {int(part[k]): error for k, error in made.bad.items()}
                self.report("images", begin + int(made.batch.places[-1]) + 1, len(good))
        return np.full((n, 1), np.nan, np.float32) if rows is None else rows, bad

    def _window_of_images(
        self, asker: Asker, images: Images, part: Ints, begin: int
    ) -> Iterator[Computed]:
        keys = images.keys[part]
        known = asker.stored(keys)
        batches = self._batches(np.arange(len(part)), begin)
        needed = [[k for k in b.places.tolist() if known[k] is None] for b in batches]
        pictures = [images.pictures[k] for k in part.tolist()]
        embed = getattr(self.model, "embed_preprocessed", self.model.embed_images)
        with Feed(self.model, pictures, needed) as feed:

            def call(batch: Batch, places: Ints) -> Any:
                return embed(feed.take(batch.number - batches[0].number, places.tolist()))

            yield from asker.compute(batches, keys, call, known)

    def texts(self, asker: Asker, texts: Sequence[str], keys: Keys, begin: int = 0) -> Rows:
        """One row a text, for a window of texts.

        Texts of like length go together, so that little is spent on padding. A model that says
        how long texts are to it (`text_lengths`) is believed.
        """
        measure = getattr(self.model, "text_lengths", lengths)
        order = sorted(zip(measure(texts), texts, range(len(texts)), strict=True))
        batches = self._batches(np.array([k for _, _, k in order], np.int64), begin)

        def call(batch: Batch, places: Ints) -> Any:
            return self.model.embed_texts([texts[k] for k in places.tolist()])

        found: Rows | None = None
        for part in asker.compute(batches, keys, call, asker.stored(keys)):
            if found is None:
                found = np.empty((len(texts), part.rows.shape[1]), np.float32)
            found[part.batch.places] = part.rows
        return np.empty((0, 1), np.float32) if found is None else found

    def pairs(
        self,
        asker: Asker,
        images: list[int],
        pictures: Sequence[Picture],
        texts: list[str],
        keys: Keys,
        begin: int = 0,
    ) -> Iterator[Computed]:
        """Scores of a window of pairs: place k is the picture of number images[k] with texts[k]."""
        batches = self._batches(np.arange(len(texts)), begin)
        known = asker.stored(keys)
        missing = [[k for k in b.places.tolist() if known[k] is None] for b in batches]
        needed = [list(dict.fromkeys(images[k] for k in places)) for places in missing]
        with Feed(None, pictures, needed) as feed:

            def call(batch: Batch, places: Ints) -> Any:
                numbers = [images[k] for k in places.tolist()]
                if self.by_content:
                    seen = feed.take(batch.number - batches[0].number, numbers)
                else:
                    seen = [pictures[k] for k in numbers]
                return self.model.score_pairs(seen, [texts[k] for k in places.tolist()])

            yield from asker.compute(batches, keys, call, known)

    def _batches(self, order: Ints, begin: int) -> list[Batch]:
        size = self.limits.batch_size
        return in_batches(order, size, -(-begin // size))


def lengths(texts: Sequence[str]) -> list[tuple[int, int]]:
    """How long texts are: in words and marks, as most tokenizers count, then in characters."""
    return [(len(PIECES.findall(text)), len(text)) for text in texts]


def _room(n: int, width: int) -> Rows:
    """An array for n rows: in memory, or in a file that is gone when nobody needs it."""
    if 4 * n * width <= IN_MEMORY:
        return np.full((n, width), np.nan, np.float32)
    with tempfile.TemporaryFile() as file:
        rows = np.memmap(file, np.float32, "w+", shape=(n, width))
    rows[:] = np.nan
    return rows
