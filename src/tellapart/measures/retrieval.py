"""Retrieval: can a model find an image's captions among all captions, and a caption's image?

Recall@k is the share of queries with a right answer among the first k; the median rank and the mean
reciprocal rank (MRR) use the best right answer. A tie counts against the model: the rank is 1 plus
the number of wrong answers that score as high or higher. As in Karpathy and Fei-Fei (2015), any of
an image's captions counts as right.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.measures.options import RetrievalOptions
from tellapart.models.model import DualEncoder, GridScorer, PairScorer
from tellapart.score.batches import ModelFailed
from tellapart.score.encoder import Encoder, open_encoder
from tellapart.score.plan import distinct_images
from tellapart.score.shards import EncodingCrew, image_shards, text_shards
from tellapart.types import Ints, Progress, silent
from tellapart.work.shard import Shard
from tellapart.work.stages import no_shards

Floats = npt.NDArray[np.floating]

log = logging.getLogger(__name__)

CHUNK_BYTES = 64 << 20
"""The largest size of a block of the score matrix."""


@dataclass(frozen=True, slots=True)
class Collection:
    """Images and captions to rank.

    `owner` is each caption's image; `image` and `text` are the rows of images and captions in
    `left` and `right`. Scores are inner products, or `left` holds the scores if `right` is None.
    """

    owner: Ints
    image: Ints
    text: Ints
    left: Floats
    right: Floats | None

    @property
    def dtype(self) -> np.dtype[np.floating]:
        """The dtype of the scores."""
        return self.left.dtype if self.right is None else np.result_type(self.left, self.right)

    def part(self, keep: Ints) -> Collection:
        """Some of the images with their captions."""
        number = np.full(len(self.image), -1)
        number[keep] = np.arange(len(keep))
        captions = np.flatnonzero(number[self.owner] >= 0)
        owner = number[self.owner[captions]]
        return Collection(owner, self.image[keep], self.text[captions], self.left, self.right)

    def chunks(self) -> Iterator[tuple[Ints, Floats]]:
        """Blocks of images with their scores for all captions, shape (images, captions)."""
        used, texts = np.unique(self.image), np.unique(self.text)
        columns = np.searchsorted(texts, self.text)
        right = None if self.right is None else self.right[texts]
        step = max(1, CHUNK_BYTES // (8 * max(1, len(columns))))
        for begin in range(0, len(used), step):
            rows = used[begin : begin + step]
            block = self.left[rows] @ right.T if right is not None else self.left[rows][:, texts]
            images = np.flatnonzero((self.image >= rows[0]) & (self.image <= rows[-1]))
            for k in range(0, len(images), step):
                some = images[k : k + step]
                yield some, _picked(block, np.searchsorted(rows, self.image[some]), columns)


def _picked(block: Floats, rows: Ints, columns: Ints) -> Floats:
    """Some rows and columns; no copy is made if they are all of them in order."""
    if not _is_range(rows, len(block)):
        block = block[rows]
    return block if _is_range(columns, block.shape[1]) else block[:, columns]


def _is_range(places: Ints, size: int) -> bool:
    return len(places) == size and bool((np.diff(places) == 1).all())


@dataclass(frozen=True, slots=True)
class Ranks:
    """One rank per query, and how many queries have a tie with their best right answer."""

    ranks: Ints
    ties: int


def rank_both(found: Collection) -> tuple[Ranks, Ranks]:
    """The ranks of images searching for captions, and of captions searching for their image.

    Everything that scores at least as high as the right answer is counted, right answers included;
    these are then subtracted, so that no mask of the matrix's size is needed.
    """
    n, m = len(found.image), len(found.owner)
    own, of_images, image_ties = np.empty(m, found.dtype), np.empty(n, np.int64), 0
    number = np.empty(n, np.int64)
    for images, scores in found.chunks():
        number[:] = -1
        number[images] = np.arange(len(images))
        at = np.flatnonzero(number[found.owner] >= 0)
        row = number[found.owner[at]]
        own[at] = scores[row, at]
        best = np.full(len(images), -np.inf, found.dtype)
        np.maximum.at(best, row, own[at])
        right = np.bincount(row, own[at] == best[row], len(images)).astype(np.int64)
        as_high = np.count_nonzero(scores >= best[:, None], axis=1)
        of_images[images] = 1 + as_high - right
        level = np.count_nonzero(scores == best[:, None], axis=1)
        image_ties += int(np.count_nonzero(level > right))
    of_texts, level = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _, scores in found.chunks():  # a second pass: each caption's own score is known only now
        of_texts += np.count_nonzero(scores >= own, axis=0)  # includes its own image
        level += np.count_nonzero(scores == own, axis=0)
    return Ranks(of_images, image_ties), Ranks(of_texts, int(np.count_nonzero(level > 1)))


KS = (1, 5, 10)
MOST_PAIRS = 250_000
"""The most pairs for a pair scorer, which must see each image with each caption."""
DIRECTIONS = ("image to text", "text to image")


@dataclass(frozen=True, slots=True)
class RetrievalRow:
    """One direction on collections of one size; shares from 0 to 1, ranks from 1.

    Figures are means over `draws` collections; `band` is the range of the middle 90% of the draws'
    recalls, empty for a single draw.
    """

    direction: str
    images: int
    captions: int
    recall: dict[int, float]
    median_rank: float
    mrr: float
    ties: int
    draws: int = 1
    band: dict[int, tuple[float, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """How well a model retrieves from a corpus, by direction and size of the collection."""

    model: str
    corpus: str
    rows: tuple[RetrievalRow, ...]
    skipped: tuple[str, ...] = field(default=())
    unread: tuple[str, ...] = field(default=())
    """What was skipped when the corpus was read."""
    queries: pl.DataFrame | None = field(default=None, compare=False)
    """Results by query, if requested (`retrieval_queries.query_table`)."""

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON-like values."""
        rows = [
            {**asdict(r), **{name: {str(k): v for k, v in getattr(r, name).items()}
                             for name in ("recall", "band")}}
            for r in self.rows
        ]  # fmt: skip
        return {"model": self.model, "corpus": self.corpus, "rows": rows,
                "skipped": list(self.skipped)}  # fmt: skip

    def __str__(self) -> str:
        ks = list(self.rows[0].recall) if self.rows else []
        head = f"{'direction':<15}{'images':>9}{'captions':>10}"
        lines = [f"{self.model} on {self.corpus}"]
        names = "".join(f"{f'R@{k}':>8}" for k in ks)
        lines.append(f"{head}{names}{'median':>9}{'MRR':>8}{'ties':>8}")
        for row in self.rows:
            shares = "".join(f"{100 * row.recall[k]:>8.1f}" for k in ks)
            lines.append(
                f"{row.direction:<15}{row.images:>9,}{row.captions:>10,}{shares}"
                f"{row.median_rank:>9g}{row.mrr:>8.3f}{row.ties:>8,}"
            )
            if row.band:
                bands = (f"{100 * low:.1f}-{100 * high:.1f}" for low, high in row.band.values())
                lines.append(f"{f'  {row.draws} draws, 90% of them within':<34}" + "  ".join(bands))
        lines += [f"skipped: {what}" for what in self.skipped[:5]]
        return "\n".join(lines)


def rank_corpus(
    model: Any,
    corpus: Corpus,
    options: RetrievalOptions = RetrievalOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
    crew: EncodingCrew | None = None,
) -> Retrieval:
    """Recall@1/5/10, median rank and MRR, both directions, on collections of one or more sizes.

    A crew may embed images and captions.
    """
    ids = [image for image in corpus.images["id"].to_list() if image in corpus.texts_by_image]
    if options.limit is not None:
        ids = _random_images(ids, options.limit, options.seed)
    for size in options.sizes:
        if not 1 <= size <= len(ids):
            raise BadInput(
                f"a collection of {size:,} images cannot be drawn from {len(ids):,}",
                allowed=f"1 to {len(ids):,}",
            )
    if options.draws < 1:
        raise BadInput(f"collections cannot be drawn {options.draws} times", allowed="1 or more")
    encode = _paired
    if isinstance(model, DualEncoder):
        encode = partial(_embedded, crew)
    elif crew is not None:
        raise no_shards(f"retrieval by {model.facts.name}", "models that embed images and texts")
    elif isinstance(model, GridScorer):
        encode = _in_grids
    with open_encoder(
        model,
        cache=options.cache_folder,
        cache_gb=options.cache_gb,
        batch_size=options.batch_size,
        skip_bad=options.skip_bad,
        progress=progress,
    ) as encoder:
        found, ids, skipped = encode(encoder, corpus, ids)
    sizes = [*sorted({size for size in options.sizes if size < len(ids)}), len(ids)]
    rows: list[RetrievalRow] = []
    for number, size in enumerate(sizes, 1):
        rows += _drawn_rows(found, ids, size, options)
        progress("scores", number, len(sizes))
    queries = None
    if options.per_query is not None:
        from tellapart.measures.retrieval_queries import query_table

        queries = query_table(found, ids, _captions(corpus, ids)[0], rank_both(found))
    return Retrieval(model.facts.name, corpus.name, tuple(rows), skipped, corpus.skipped, queries)


def _drawn_rows(
    found: Collection, ids: list[str], size: int, options: RetrievalOptions
) -> list[RetrievalRow]:
    """Both directions on collections of one size, drawn repeatedly unless it is the whole."""
    drawn: list[list[RetrievalRow]] = []
    for draw in range(options.draws if size < len(ids) else 1):
        chosen = set(_random_images(ids, size, options.seed, draw))
        part = found.part(np.array([k for k, image in enumerate(ids) if image in chosen]))
        both = zip(DIRECTIONS, rank_both(part), strict=True)
        drawn.append([_row(direction, part, ranks) for direction, ranks in both])
    return [_mean_row(rows) for rows in zip(*drawn, strict=True)]


def _mean_row(rows: Sequence[RetrievalRow]) -> RetrievalRow:
    """The mean over draws, with the band of each recall."""
    if len(rows) == 1:
        return rows[0]
    recalls = {k: np.array([row.recall[k] for row in rows]) for k in KS}
    bands = {k: np.quantile(values, (0.05, 0.95)).tolist() for k, values in recalls.items()}
    return RetrievalRow(
        rows[0].direction,
        rows[0].images,
        round(np.mean([row.captions for row in rows])),
        {k: float(values.mean()) for k, values in recalls.items()},
        float(np.mean([row.median_rank for row in rows])),
        float(np.mean([row.mrr for row in rows])),
        round(np.mean([row.ties for row in rows])),
        len(rows),
        {k: (low, high) for k, (low, high) in bands.items()},
    )


def _random_images(ids: Sequence[str], size: int, seed: int, draw: int = 0) -> list[str]:
    """A random subset of the images in their own order; smaller subsets lie in larger ones."""
    if size >= len(ids):
        return list(ids)
    path = ("retrieve", draw) if draw else ("retrieve",)
    order = seeds.rng(seed, *path).permutation(len(ids))[:size]
    return [ids[int(k)] for k in sorted(order)]


Encoded = tuple[Collection, list[str], tuple[str, ...]]
"""The collection to rank, the ids of its images, and what was skipped."""


def _embedded(
    crew: EncodingCrew | None, encoder: Encoder, corpus: Corpus, ids: list[str]
) -> Encoded:
    pictures = [corpus.picture(image) for image in ids]
    images, number = distinct_images(
        pictures,
        by_content=True,
        progress=encoder.report,
    )
    if images.bad and not encoder.skip_bad:
        raise next(iter(images.bad.values()))
    with _by(crew, "images", encoder, partial(image_shards, images)) as reader:
        left, bad = reader.embed_images(images)
    keep = [k for k in range(len(ids)) if number[k] not in bad]
    texts, owner = _captions(corpus, [ids[k] for k in keep])
    distinct = list(dict.fromkeys(texts))
    with _by(crew, "texts", encoder, partial(text_shards, distinct)) as reader:
        right = reader.embed_texts(distinct)
    rows = np.array([number[k] for k in keep])
    for kind, array in (("images", left[rows]), ("texts", right)):
        if not np.isfinite(array).all():
            raise ModelFailed(
                f"{encoder.model.facts.name} gives some {kind} embeddings that are not numbers",
                todo="fix the model: these cannot be ranked",
            )
    at = {text: k for k, text in enumerate(distinct)}
    found = Collection(owner, rows, np.array([at[text] for text in texts]), left, right)
    return found, [ids[k] for k in keep], tuple(error.what for error in bad.values())


def _by(
    crew: EncodingCrew | None, stage: str, encoder: Encoder, cut: Callable[[Encoder], list[Shard]]
) -> AbstractContextManager[Encoder]:
    """The encoder itself, or one that reads what a crew computes."""
    if crew is None:
        return nullcontext(encoder)
    return crew.encoder(stage, cut(encoder), encoder, encoder.report)


def _in_grids(encoder: Encoder, corpus: Corpus, ids: list[str]) -> Encoded:
    pictures = [corpus.picture(image) for image in ids]
    images, number = distinct_images(pictures, by_content=True, progress=encoder.report)
    if images.bad and not encoder.skip_bad:
        raise next(iter(images.bad.values()))
    keep = [k for k in range(len(ids)) if number[k] not in images.bad]
    used = np.unique(np.array([number[k] for k in keep], np.int64))
    texts, owner = _captions(corpus, [ids[k] for k in keep])
    distinct = list(dict.fromkeys(texts))
    seen = [images.pictures[k] for k in used.tolist()]
    scores = np.asarray(
        encoder.model.score_grid(seen, distinct, _with_time_estimate(encoder.report))
    )
    if not np.isfinite(scores).all():
        raise ModelFailed(
            f"{encoder.model.facts.name} gives some pairs a score that is not a number",
            todo="fix the model: these cannot be ranked",
        )
    at = {text: k for k, text in enumerate(distinct)}
    rows = np.searchsorted(used, [number[k] for k in keep])
    found = Collection(owner, rows, np.array([at[text] for text in texts]), scores, None)
    return found, [ids[k] for k in keep], tuple(error.what for error in images.bad.values())


def _with_time_estimate(report: Progress) -> Progress:
    """Progress that also logs, once the pace is known, how long all pairs will take."""
    begun: list[tuple[float, int]] = []

    def show(phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if len(begun) == 1 and done < total:
            before, first = begun[0]
            pace = (done - first) / max(1e-9, now - before)
            log.info(
                "%s pairs to score at %s a second: about %.0f s",
                f"{total:,}",
                f"{pace:,.0f}",
                total / max(pace, 1e-9),
            )
        begun.append((now, done))
        report(phase, done, total)

    return show


def _paired(encoder: Encoder, corpus: Corpus, ids: list[str]) -> Encoded:
    model = encoder.model
    if not isinstance(model, PairScorer):
        raise BadInput(
            f"{model.facts.name} cannot retrieve",
            allowed="models that embed images and texts, or that score pairs",
        )
    texts, owner = _captions(corpus, ids)
    distinct = list(dict.fromkeys(texts))
    if len(ids) * len(distinct) > MOST_PAIRS:
        raise BadInput(
            f"{model.facts.name} would have to score {len(ids) * len(distinct):,} pairs",
            allowed=f"at most {MOST_PAIRS:,} pairs for a model that scores pairs",
            todo="use fewer images with --limit, or a model that embeds",
        )
    scores = np.empty((len(ids), len(distinct)))
    for k, image in enumerate(ids):
        scores[k] = encoder.score_pairs([corpus.picture(image)] * len(distinct), distinct)
        encoder.report("scores", k + 1, len(ids))
    at = {text: k for k, text in enumerate(distinct)}
    columns = np.array([at[text] for text in texts])
    return Collection(owner, np.arange(len(ids)), columns, scores, None), ids, ()


def _captions(corpus: Corpus, ids: list[str]) -> tuple[list[str], Ints]:
    """All captions of some images, and the index of each caption's image."""
    texts = [(text, k) for k, image in enumerate(ids) for text in corpus.texts_by_image[image]]
    return [text for text, _ in texts], np.array([k for _, k in texts], np.int64)


def _row(direction: str, part: Collection, found: Ranks) -> RetrievalRow:
    ranks = found.ranks
    recall = {k: float((ranks <= k).mean()) for k in KS}
    median, mrr = float(np.median(ranks)), float((1 / ranks).mean())
    return RetrievalRow(
        direction, len(part.image), len(part.owner), recall, median, mrr, found.ties
    )
