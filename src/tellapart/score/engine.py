"""The engine: asks a model all that a benchmark asks, and keeps account of every answer."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart._version import __version__
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadImage
from tellapart.items import Item
from tellapart.models.model import Asked, DualEncoder, Floats, PairScorer, Reply, Shown, kind_of
from tellapart.pictures import Picture
from tellapart.questions import Ask, Question, questions
from tellapart.score.cells import CellText, cells
from tellapart.score.run import Failure, Run, RunCard, answers_frame, scores_frame

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to run: which questions, how many items at a time, what to do about bad images."""

    asks: frozenset[Ask]
    seed: int = 0
    batch_size: int = 64
    trials: int = 1
    skip_bad: bool = False


def run_model(
    model: Any,
    benchmark: Benchmark,
    settings: Settings,
    progress: Progress,
    limit: int | None = None,
) -> Run:
    """Put one model through one benchmark (or a seeded sample of `limit` items of it)."""
    items = sample(benchmark.items, limit, settings.seed)
    if hasattr(model, "prepare"):
        model.prepare([Shown(item.images, item.captions, item.group) for item in items])
    kind = kind_of(model)
    card = RunCard(
        model=model.facts.name,
        options=dict(model.facts.options),
        kind=kind,
        benchmark=benchmark.name,
        benchmark_sha256=benchmark.sha256,
        weights=model.facts.weights,
        preprocessing=model.facts.preprocessing,
        dtype=model.facts.dtype,
        seed=settings.seed,
        asks=tuple(sorted(settings.asks)),
        scored_cells=kind == "scorer",
        versions=versions(),
    )
    failures: list[Failure] = []
    scores, answers = scores_frame([]), answers_frame([])
    if kind == "scorer":
        scores = _score_all(model, benchmark, items, settings, failures, progress)
    else:
        answers = _ask_all(model, benchmark, items, settings, progress)
    return Run(card, benchmark, scores, answers, tuple(failures))


def sample(items: Sequence[Item], limit: int | None, seed: int) -> list[Item]:
    """All items, or a random sample of them in their own order."""
    if limit is None or limit >= len(items):
        return list(items)
    chosen = seeds.rng(seed, "limit").choice(len(items), size=limit, replace=False)
    return [items[int(k)] for k in sorted(chosen)]


def versions() -> dict[str, str]:
    """The versions that scores depend on."""
    return {
        "tellapart": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "polars": pl.__version__,
    }


def _score_all(
    model: DualEncoder | PairScorer,
    benchmark: Benchmark,
    items: list[Item],
    settings: Settings,
    failures: list[Failure],
    progress: Progress,
) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    scorer = _EncodedPairs(model) if isinstance(model, DualEncoder) else model
    for done, chunk in _chunks(items, settings.batch_size):
        wanted = [cell for item in chunk for cell in cells(item, settings.asks)]
        values = _scores_of(scorer, benchmark, wanted, settings.skip_bad)
        rows = []
        for cell, value in zip(wanted, values, strict=True):
            if isinstance(value, float) and math.isfinite(value):
                rows.append((cell.item.id, cell.image, cell.caption, cell.edit, value))
            else:
                reason = value if isinstance(value, str) else f"the model's score is {value}"
                part = f"{cell.image},{cell.caption}" + (f",{cell.edit}" if cell.edit else "")
                failures.append(Failure(cell.item.id, part, reason))
        frames.append(scores_frame(rows))
        progress(done, len(items))
    return pl.concat(frames) if frames else scores_frame([])


def _chunks(items: list[Item], size: int) -> Iterator[tuple[int, list[Item]]]:
    queue, done = iter(items), 0
    while chunk := list(islice(queue, size)):
        done += len(chunk)
        yield done, chunk


def _scores_of(
    scorer: PairScorer, benchmark: Benchmark, wanted: list[CellText], skip_bad: bool
) -> list[float | str]:
    """A score for each cell, or the reason why there is none; equal pairs are scored once."""
    keys = [(cell.item.images[cell.image], cell.text) for cell in wanted]
    distinct = list(dict.fromkeys(keys))
    pictures = [benchmark.picture(image) for image, _ in distinct]
    texts = [text for _, text in distinct]
    try:
        values: list[float | str] = [float(v) for v in scorer.score_pairs(pictures, texts)]
    except BadImage:
        if not skip_bad:
            raise
        values = [_score_one(scorer, p, t) for p, t in zip(pictures, texts, strict=True)]
    known = dict(zip(distinct, values, strict=True))
    return [known[key] for key in keys]


def _score_one(scorer: PairScorer, picture: Picture, text: str) -> float | str:
    try:
        return float(scorer.score_pairs([picture], [text])[0])
    except BadImage as error:
        return error.what


class _EncodedPairs:
    """A dual encoder as a pair scorer: every distinct image and text is embedded once."""

    def __init__(self, model: DualEncoder) -> None:
        self.facts = model.facts
        self._model = model
        self._images: dict[str, Floats] = {}
        self._texts: dict[str, Floats] = {}

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """Inner products, in float32."""
        new_pictures = {p.id: p for p in pictures if p.id not in self._images}
        if new_pictures:
            rows = self._model.embed_images(list(new_pictures.values()))
            self._images |= dict(zip(new_pictures, np.asarray(rows, np.float32), strict=True))
        new_texts = [t for t in dict.fromkeys(texts) if t not in self._texts]
        if new_texts:
            rows = self._model.embed_texts(new_texts)
            self._texts |= dict(zip(new_texts, np.asarray(rows, np.float32), strict=True))
        left = np.stack([self._images[p.id] for p in pictures])
        right = np.stack([self._texts[t] for t in texts])
        return np.asarray(np.einsum("nd,nd->n", left, right))


def _ask_all(
    model: Any, benchmark: Benchmark, items: list[Item], settings: Settings, progress: Progress
) -> pl.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for done, chunk in _chunks(items, settings.batch_size):
        asked = [
            Asked(question, benchmark.pictures(item), _order(question, trial, settings.seed), trial)
            for item in chunk
            for question in questions(item, settings.asks)
            for trial in range(settings.trials)
        ]
        for one, reply in zip(asked, model.choose(asked), strict=True):
            rows.append(_answer_row(one, reply))
        progress(done, len(items))
    return answers_frame(rows)


def _order(question: Question, trial: int, seed: int) -> tuple[int, ...]:
    """The order in which options are shown: shuffled, then moved on by one place a trial.

    With as many trials as options each option stands at each place once, so that a model which
    leans to a place neither gains nor loses by it.
    """
    rng = seeds.rng(seed, "order", question.item.content, question.id)
    shuffled = [int(k) for k in rng.permutation(len(question.options))]
    first = trial % len(shuffled)
    return tuple(shuffled[first:] + shuffled[:first])


def _answer_row(asked: Asked, reply: Reply) -> tuple[Any, ...]:
    answered = reply.shown is not None and not reply.failure
    choice = asked.order[reply.shown] if answered and reply.shown is not None else None
    status = "answered" if answered else "failed"
    text = reply.text or reply.failure
    return asked.item.id, asked.question.id, asked.trial, list(asked.order), choice, status, text
