"""Scored negatives: two text-only scores of each negative and its original.

They come from a table with one row per negative, or from a benchmark's captions and two models:

| column | what |
|---|---|
| `id`, `kind` | which negative, of which kind |
| `plausibility`, `negative_plausibility` | one score of the original caption and of the negative |
| `grammar`, `negative_grammar` | the other score of both |
| `group` | optional: what must stay together, such as the image (default: each row alone) |
| `caption`, `negative_caption` | optional: the texts, without which nothing malformed is found |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.table import ItemTable
from tellapart.errors import BadInput, PartDone
from tellapart.files import require_columns
from tellapart.items import Item
from tellapart.models.language import TextScorer
from tellapart.models.model import kind_of
from tellapart.models.names import load
from tellapart.questions import Ask
from tellapart.score.batches import BatchLimits
from tellapart.score.encoder import BATCH, Encoder, score_texts
from tellapart.score.engine import Settings, run_tasks
from tellapart.score.job import ModelWork, model_id
from tellapart.score.plan import ScoreTask
from tellapart.score.run import Run, load_run
from tellapart.score.shards import EncodingCrew, text_shards
from tellapart.types import Floats, Ints, Progress, silent
from tellapart.work.stages import StagedCrew

SCORES = ("plausibility", "grammar")
NUMBERS = tuple(name for score in SCORES for name in (score, f"negative_{score}"))
TEXTS = ("caption", "negative_caption")


@dataclass(frozen=True, eq=False)
class ScoredNegatives:
    """Scored negatives, sorted by id.

    `scores` has the shape (2, n, 2): by score, by row, the original's and the negative's. `kind`
    and `group` are indices into `kinds` and into the groups in alphabetical order, so that no
    result depends on the order of rows.
    """

    table: pl.DataFrame
    kinds: tuple[str, ...]
    kind: Ints
    group: Ints
    scores: Floats

    def __len__(self) -> int:
        return self.table.height

    @property
    def has_texts(self) -> bool:
        """Whether the captions themselves are known."""
        return set(TEXTS) <= set(self.table.columns)


def scored(table: pl.DataFrame, where: Path) -> ScoredNegatives:
    """Check a table of scored negatives; `where` is its name in errors."""
    require_columns(table, ["id", "kind", *NUMBERS], where)
    if not table.height:
        raise BadInput("the table has no negatives", where=str(where))
    table = table.with_columns(pl.col("id", "kind").cast(pl.String))
    table = table.with_columns(_number(table, name, where) for name in NUMBERS).sort("id")
    twice = table.filter(pl.col("id") == pl.col("id").shift(1))
    if twice.height:
        raise BadInput(
            f"the id {twice['id'][0]!r} occurs twice", where=str(where), allowed="every id once"
        )
    kinds, kind = _codes(table["kind"])
    group = np.arange(table.height)
    if "group" in table.columns:
        _, group = _codes(table["group"].cast(pl.String))
    pairs = [table.select(name, f"negative_{name}").to_numpy() for name in SCORES]
    return ScoredNegatives(table, tuple(kinds), kind, group, np.stack(pairs))


def _number(table: pl.DataFrame, name: str, where: Path) -> pl.Series:
    """A column as numbers, every one of them finite."""
    try:
        numbers = table[name].cast(pl.Float64, strict=False)
    except pl.exceptions.PolarsError:
        numbers = pl.Series(name, [None] * table.height, pl.Float64)
    bad = (~numbers.is_finite().fill_null(False)).arg_true()
    if len(bad):
        row = int(bad[0])
        raise BadInput(
            f"{name} of the negative {table['id'][row]!r} is {table[name][row]!r}"
            + (f" (and {len(bad) - 1:,} more)" if len(bad) > 1 else ""),
            where=f"{where}, row {row + 1}",
            allowed="a number",
            todo="leave out the rows without scores, or score them",
        )
    return numbers


def _codes(names: pl.Series) -> tuple[list[str], Ints]:
    """The distinct names in alphabetical order, and the index of each row's name."""
    distinct = names.unique().sort()
    places = pl.DataFrame({"name": distinct}).with_row_index("place")
    placed = pl.DataFrame({"name": names}).join(
        places, on="name", how="left", nulls_equal=True, maintain_order="left"
    )
    return distinct.to_list(), placed["place"].to_numpy().astype(np.int64)


@dataclass(frozen=True, slots=True)
class Scoring:
    """How models are run: batch size, cache for their scores, and the crew if there is one."""

    batch_size: int = BATCH
    cache: Path | None = None
    progress: Progress = silent
    crew: StagedCrew | None = None


class NegativePair(NamedTuple):
    """The cells of a negative and its original in an item."""

    item: Item
    image: int
    original: int
    negative: int

    @property
    def captions(self) -> tuple[str, str]:
        """The original caption and the negative."""
        return self.item.captions[self.original], self.item.captions[self.negative]


def pair_of(item: Item) -> NegativePair:
    """The pair of an item with two captions, one of them true of the (original) image."""
    cell = item.original or (next(iter(item.true)) if len(item.true) == 1 else None)
    if len(item.captions) != 2 or cell is None or (cell[0], 1 - cell[1]) in item.true:
        raise BadInput(
            f"item {item.id} is not a pair of an original caption and a negative",
            where=f"{len(item.images)} x {len(item.captions)}, {len(item.true)} true cells",
            allowed="items with two captions, one of them true of the image",
            todo="keep only such items with: tellapart subset",
        )
    return NegativePair(item, cell[0], cell[1], 1 - cell[1])


def score_table(benchmark: Benchmark, models: Sequence[Any], scoring: Scoring) -> pl.DataFrame:
    """The table of scored negatives (see `ScoredNegatives`); one model for each of the two scores.

    A model is a string, a model, or the folder of a run on the benchmark.
    """
    pairs = [pair_of(item) for item in benchmark.items]
    columns: dict[str, Any] = {
        "id": [pair.item.id for pair in pairs],
        "kind": [pair.item.kind for pair in pairs],
        "group": [pair.item.group for pair in pairs],
        "caption": [pair.captions[0] for pair in pairs],
        "negative_caption": [pair.captions[1] for pair in pairs],
    }
    parts: list[PartDone] = []
    for name, model in zip(SCORES, models, strict=True):
        try:
            both = _scores(name, model, benchmark, pairs, scoring)
        except PartDone as part:  # this score's share; the other score has shares, too
            parts.append(part)
            continue
        columns[name], columns[f"negative_{name}"] = both
    if parts:
        raise PartDone.of(parts)
    return pl.DataFrame(columns)


def name_of(model: Any) -> str:
    """The name of a score's source on the card."""
    return str(model) if isinstance(model, str | Path) else str(model.facts.name)


def _scores(
    name: str, model: Any, benchmark: Benchmark, pairs: list[NegativePair], scoring: Scoring
) -> tuple[Floats, Floats]:
    """The originals' scores and the negatives'."""
    if is_run(model):
        return _from_run(load_run(Path(model), benchmark), pairs)
    ready = load(model) if isinstance(model, str) else model
    if isinstance(ready, TextScorer):
        texts = [caption for pair in pairs for caption in pair.captions]
        scores = _texts_scored(name, model, ready, texts, scoring)
        return scores[0::2], scores[1::2]
    if kind_of(ready) != "scorer":
        raise BadInput(
            f"{name_of(ready)} chooses options and gives no scores",
            allowed="vera, cola, blind, hf:NAME?head=lm, hf:NAME?head=classifier, or any scorer",
        )
    settings = Settings(
        frozenset([Ask.CAPTION]), batch_size=scoring.batch_size, cache=scoring.cache
    )
    asked = replace(benchmark, items=ItemTable.of(pair.item for pair in pairs))
    task = ScoreTask(asked, asked.items, settings.asks)
    work = None
    if scoring.crew is not None:
        folder = scoring.crew.kept(f"{name}-{model_id(ready)}").folder
        work = ModelWork(folder, model, scoring.crew.crew)
    (run,) = run_tasks(ready, [task], settings, scoring.progress, work)
    return _from_run(run, pairs)


def _texts_scored(
    name: str, model: Any, ready: TextScorer, texts: list[str], scoring: Scoring
) -> Floats:
    """Scores of texts, by this process or by a crew."""

    def progress(_: str, done: int, total: int) -> None:
        scoring.progress(name, done, total)

    if scoring.crew is None:
        return score_texts(
            ready, texts, cache=scoring.cache, batch_size=scoring.batch_size, progress=progress
        )
    encoder = Encoder(ready, BatchLimits(scoring.batch_size))
    crew = EncodingCrew(scoring.crew, model, scoring.cache)
    with crew.encoder(name, text_shards(texts, encoder), encoder, progress) as reader:
        return reader.score_texts(texts)


def is_run(model: Any) -> bool:
    """Whether this is the folder of a run."""
    return isinstance(model, str | Path) and (Path(model) / "run.json").exists()


def _from_run(run: Run, pairs: list[NegativePair]) -> tuple[Floats, Floats]:
    plain = run.scores.filter(pl.col("edit") == "")
    cells = plain.select("item", "image", "caption", "score").iter_rows()
    known = {(item, image, caption): score for item, image, caption, score in cells}
    scores = [
        known.get((pair.item.id, pair.image, caption))
        for pair in pairs
        for caption in (pair.original, pair.negative)
    ]
    missing = scores.count(None)
    if missing:
        raise BadInput(
            f"{run.model} has no score for {missing:,} captions of {run.benchmark.name}",
            allowed="a score for each caption",
            todo="score them, or leave such items out with tellapart subset",
        )
    both = np.array(scores, np.float64)
    return both[0::2], both[1::2]
