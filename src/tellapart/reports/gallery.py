"""The gallery: cards of some items, with their pictures and every model's answers.

Items are drawn with a fixed seed, evenly from benchmarks and kinds. Pictures are small, each
distinct one is stored once, and they are re-encoded from their pixels, so that a file's metadata
(such as where a photograph was taken) does not get into the page.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import PIL.Image
from PIL import features

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.measures.scores import asks_of
from tellapart.questions import questions
from tellapart.reports.card import ItemCard, ModelRow, Thumbnail, answer_of
from tellapart.reports.picks import State, reader, verdict_measure, verdicts
from tellapart.reports.results import BenchmarkResults, StepCounter
from tellapart.reports.showcase import Shown
from tellapart.types import Ints

PAGE_BYTES = 7_300_000
"""Size limit in bytes of a page with 300 items; more items may take more."""

LEAST_BYTES = 1_500_000
"""Bytes that pictures may take in any case, however much text there is (before base64)."""

LARGEST_PICTURE = 40_000
LEVELS = ((320, 82), (320, 68), (256, 65), (224, 55), (176, 50), (128, 45), (96, 40), (64, 30))
"""Longest side in pixels and quality, tried in turn until a picture fits its share."""

TEXT_ONLY = "text-only"


# Pictures


class Album:
    """All pictures of a page; `pictures` are data URIs, in the order of their numbers."""

    def __init__(self, items: int, pictures: int, text: int) -> None:
        """An album for a number of items and distinct pictures, besides `text` bytes of text."""
        # base64 turns 3 bytes into 4
        room = max(PAGE_BYTES * max(1.0, items / 300) - text, 0) * 3 / 4
        self._limit = min(LARGEST_PICTURE, int(max(room, LEAST_BYTES) / max(1, pictures)))
        self._seen: dict[tuple[str, str], Thumbnail] = {}
        self._places: dict[str, int] = {}
        self.pictures: list[str] = []

    def add(self, benchmark: Benchmark, image_id: str) -> Thumbnail:
        """Add a picture to the album, unless it is there already."""
        image = benchmark.images.get(image_id)
        if image is None:
            return Thumbnail(None, problem=f"image {image_id} is not listed in the benchmark")
        key = (str(benchmark.root.resolve()), image.uri)
        if key not in self._seen:
            self._seen[key] = self._added(benchmark, image_id)
        return self._seen[key]

    def _added(self, benchmark: Benchmark, image_id: str) -> Thumbnail:
        try:
            with benchmark.picture(image_id).open() as picture:
                data, (width, height) = shrunk(picture, self._limit)
        except BadInput as error:
            return Thumbnail(None, problem=error.what)
        name = hashlib.sha256(data).hexdigest()
        if name not in self._places:
            self._places[name] = len(self.pictures)
            kind = "webp" if data[8:12] == b"WEBP" else "jpeg"
            self.pictures.append(
                f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"
            )
        return Thumbnail(self._places[name], width, height)


def shrunk(picture: PIL.Image.Image, limit: int) -> tuple[bytes, tuple[int, int]]:
    """A picture's bytes at the best level that fits into `limit` bytes, and its size."""
    data, small = b"", picture.copy()
    for side, quality in LEVELS:
        small.thumbnail((side, side), reducing_gap=2.0)
        data = _encoded(small, quality)
        if len(data) <= limit:
            break
    return data, small.size


def _encoded(picture: PIL.Image.Image, quality: int) -> bytes:
    buffer = io.BytesIO()
    bare = PIL.Image.frombytes("RGB", picture.size, picture.tobytes())  # without metadata
    if features.check("webp"):
        bare.save(buffer, "WEBP", quality=quality, method=4)
    else:
        bare.save(buffer, "JPEG", quality=quality, optimize=True)
    return buffer.getvalue()


# Cards


@dataclass(frozen=True, slots=True)
class GalleryCard:
    """A card in the gallery; `codes` has one letter per model of the report, text-only last.

    `section` is the number of its benchmark.
    """

    card: ItemCard
    section: int
    codes: str

    @property
    def item(self) -> Item:
        """The item."""
        return self.card.item

    @property
    def benchmark(self) -> str:
        """The benchmark's label."""
        return self.card.benchmark


def make_cards(
    results: BenchmarkResults,
    number: int,
    items: Sequence[Item],
    models: tuple[str, ...],
    album: Album,
) -> Iterator[GalleryCard]:
    """The cards of some items of a benchmark; `models` are all models of the report."""
    ids = frozenset(item.id for item in items)
    judge = verdict_measure(results.measures)
    asks = asks_of([measure.name for measure in results.measures])
    runs = [(entry.label, entry.run) for entry in results.looked_at]
    runs.append((TEXT_ONLY, results.text_only.run))
    readers = [(label, reader(run, ids), verdicts(run, judge)) for label, run in runs]
    thumbnail = partial(album.add, results.benchmark)
    for item in items:
        asked = list(questions(item, asks))
        rows = tuple(
            ModelRow(
                label,
                verdict_of.get(item.id, State.UNASKED),
                tuple(answer_of(question, read(question)) for question in asked),
            )
            for label, read, verdict_of in readers
        )
        by_label = {label: of.get(item.id, State.UNASKED) for label, _, of in readers}
        codes = "".join(by_label.get(model, State.UNASKED) for model in (*models, TEXT_ONLY))
        card = ItemCard.of(item, results.label, thumbnail, asked, rows)
        yield GalleryCard(card, number, codes)


# The gallery


@dataclass(frozen=True, slots=True)
class Gallery:
    """The cards, their pictures, and the number of available items.

    `opening` are the cards at the top of the page, each with its title.
    """

    cards: tuple[GalleryCard, ...]
    pictures: tuple[str, ...]
    models: tuple[str, ...]
    available: int
    opening: tuple[tuple[str, GalleryCard], ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds in the gallery, sorted."""
        return tuple(sorted({card.item.kind for card in self.cards}))

    @property
    def states(self) -> frozenset[State]:
        """The outcomes in the gallery."""
        return frozenset(State(code) for card in self.cards for code in card.codes)


def spread(total: int, sizes: Sequence[int]) -> list[int]:
    """`total` split as evenly as the sizes allow; the remainder goes to the first ones.

    >>> spread(10, [2, 100, 100]), spread(9, [1, 1])
    ([2, 4, 4], [1, 1])
    """
    shares = [0] * len(sizes)
    while total > 0 and (room := [k for k, size in enumerate(sizes) if shares[k] < size]):
        share = max(1, total // len(room))
        for k in room[:total]:
            more = min(share, sizes[k] - shares[k])
            shares[k] += more
            total -= more
    return shares


def chosen_items(benchmarks: Sequence[BenchmarkResults], total: int) -> list[list[Item]]:
    """The items to show for each benchmark, evenly by benchmark and kind, with a fixed seed."""
    pools = [_pool(results) for results in benchmarks]
    shares = spread(total, [sum(map(len, pool.values())) for pool in pools])
    chosen = []
    for results, pool, share in zip(benchmarks, pools, shares, strict=True):
        items, shown = results.benchmark.items, []
        parts = spread(share, [len(places) for places in pool.values()])
        for (kind, places), part in zip(pool.items(), parts, strict=True):
            rng = seeds.rng(0, "gallery", results.benchmark.sha256, kind)
            shown += places[rng.choice(len(places), size=part, replace=False)].tolist()
        chosen.append([items[place] for place in sorted(shown)])
    return chosen


def _pool(results: BenchmarkResults) -> dict[str, Ints]:
    """The rows of the items that any run covers, by kind."""
    entries = [*results.looked_at, results.text_only]
    covered = frozenset[str]().union(*(entry.run.covered for entry in entries))
    items = results.benchmark.items
    names, kind = items.kinds
    places = items.ids.is_in(list(covered)).arg_true().to_numpy().astype(np.int64)
    return {name: places[kind[places] == k] for k, name in enumerate(names)}


def make_gallery(
    benchmarks: Sequence[BenchmarkResults],
    chosen: Sequence[Sequence[Item]],
    steps: StepCounter,
    opening: Sequence[Shown] = (),
) -> Gallery:
    """The cards of the chosen items, one step each, and those at the top of the page."""
    shown = [item for items in chosen for item in items]
    distinct = {
        (number, image) for number, items in enumerate(chosen) for i in items for image in i.images
    }
    distinct |= {(one.benchmark, image) for one in opening for image in one.item.images}
    models = tuple(dict.fromkeys(e.label for results in benchmarks for e in results.looked_at))
    per_item = 2_000 + sum(400 + len(model) for model in models)  # bytes of HTML, by experience
    album = Album(len(shown), len(distinct), per_item * len(shown))
    cards: list[GalleryCard] = []
    for number, (results, items) in enumerate(zip(benchmarks, chosen, strict=True)):
        for card in make_cards(results, number, items, models, album):
            cards.append(card)
            steps.step()
    available = sum(len(places) for results in benchmarks for places in _pool(results).values())
    first = tuple(
        (one.title, card)
        for one in opening
        for card in make_cards(benchmarks[one.benchmark], one.benchmark, [one.item], models, album)
    )
    return Gallery(tuple(cards), tuple(album.pictures), models, available, first)
