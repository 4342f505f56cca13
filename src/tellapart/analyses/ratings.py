"""`analyse ratings`: people's ratings of captions beside metrics (BISON, Figures 3 and 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable
from tellapart.analyses.figure import BAND, Figure, Panel
from tellapart.analyses.sources import RatingFiles, cluster_error, paths_of
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import name_of, read_corpus
from tellapart.errors import BadInput
from tellapart.measures.captions.judge import choose_metrics
from tellapart.measures.captions.judgements import Judgements, read_judgements
from tellapart.options import Help
from tellapart.stats.rank_correlation import Correlation, rank_correlations
from tellapart.store.cache import default_folder
from tellapart.text.caption_metrics.metric import Material, Texts
from tellapart.types import Floats, Ints, Progress, silent

METRICS = ("BLEU-4", "CIDEr-D", "ROUGE-L")
BINS = 8
FEWEST = 10
"""Score ranges with fewer captions than this are not drawn."""
FORMS = {
    **dict.fromkeys(("mean", "low", "tau_b", "tau_c", "spearman", "score", "rating"), ".3f"),
    **dict.fromkeys(("tau_b_low", "tau_c_low", "spearman_low"), ".3f"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RatingOptions(AnalysisOptions):
    """What to compare ratings with."""

    references: Annotated[Path | None, Help("Captions by people, for the metrics: any corpus.")] = (
        None
    )
    metrics: Annotated[tuple[str, ...], Help("Caption metrics, separated by commas.")] = METRICS
    most: Annotated[
        int, Help("How many captions that people rate high and metrics low to list.")
    ] = 10
    skip_bad: Annotated[bool, Help("Leave out ratings of unknown images and report how many.")] = (
        False
    )


def analyse_ratings(
    judgements: RatingFiles,
    options: RatingOptions = RatingOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """People's ratings of captions beside metrics: means, correlations, disagreements.

    Ratings are tables that captions --judgements reads and study export writes (ratings.csv). A
    caption that is one of its image's references is left out.
    """
    if options.references is None:
        raise BadInput("no references were given", todo="name a corpus with --references")
    corpus = read_corpus(options.references)
    means: list[dict[str, Any]] = []
    correlations: list[dict[str, Any]] = []
    liked: list[pl.DataFrame] = []
    panels: list[Panel] = []
    notes: list[str] = []
    for path in paths_of(judgements):
        rated = _Rated.of(path, corpus, options)
        notes += rated.notes
        means.append(rated.mean())
        points: list[dict[str, Any]] = []
        for metric, scores in _scores(rated, corpus, options.metrics, progress):
            correlations.append(rated.correlated(metric, scores, options))
            points += rated.curve(metric, scores)
            liked.append(rated.liked(metric, scores, options.most))
        panels.append(_panel(rated.name, points))
    tables = (
        ResultTable("means", "Mean ratings", pl.DataFrame(means), FORMS),
        ResultTable("correlations", "Metrics and ratings", pl.DataFrame(correlations), FORMS),
        ResultTable("liked", "Captions that people rate high and a metric low",
                    pl.concat(liked), FORMS),
    )  # fmt: skip
    sentences = (*map(_mean_sentence, means), *map(_sentence, correlations))
    title = "Ratings by people and captioning scores"
    methods = (
        "correlations: each rating is a row; interval: jackknife over images",
        *dict.fromkeys(notes),
    )
    figure = Figure(title, f"{title}. {' '.join(sentences)}", tuple(panels))
    return Analysis("ratings", title, sentences, tables, figure, methods)


@dataclass(frozen=True, slots=True)
class _Rated:
    """One table of ratings; `image` numbers each caption's image, `times` counts its ratings."""

    name: str
    given: Judgements
    mean_rating: Floats
    ratings: Floats
    times: Ints
    image: Ints

    @classmethod
    def of(cls, path: Path, corpus: Corpus, options: RatingOptions) -> _Rated:
        given = read_judgements(path, corpus, skip_bad=options.skip_bad)
        times = np.array([len(one.ratings) for one in given.captions])
        ratings = np.array([rating for one in given.captions for rating in one.ratings])
        means = np.array([np.mean(one.ratings) for one in given.captions])
        image = np.unique([one.image for one in given.captions], return_inverse=True)[1]
        return cls(name_of(path), given, means, ratings, times, image)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.given.remarks

    def mean(self) -> dict[str, Any]:
        """The mean over ratings, with its interval over images."""
        rows = np.repeat(self.image, self.times)
        value, error = float(self.ratings.mean()), cluster_error(self.ratings, rows)
        return {
            "ratings of": self.name, "captions": len(self.times), "ratings": len(self.ratings),
            "mean": value, "low": value - 1.96 * error, "high": value + 1.96 * error,
        }  # fmt: skip

    def correlated(self, metric: str, scores: Floats, options: RatingOptions) -> dict[str, Any]:
        found = rank_correlations(
            np.repeat(scores, self.times), self.ratings, np.repeat(self.image, self.times),
            seeds.rng(options.seed, "ratings", metric),
        )  # fmt: skip
        row: dict[str, Any] = {"ratings of": self.name, "metric": metric}
        kinds: tuple[tuple[str, Correlation], ...] = (
            ("tau_b", found.tau_b), ("tau_c", found.tau_c), ("spearman", found.spearman),
        )  # fmt: skip
        for name, one in kinds:
            row |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
        return row

    def curve(self, metric: str, scores: Floats) -> list[dict[str, Any]]:
        """Mean ratings by ranges of the score, scaled to between 0 and 1."""
        top = float(np.quantile(scores, 0.99)) or 1.0
        scaled = np.clip(scores / top, 0, 1)
        code = np.minimum((scaled * BINS).astype(int), BINS - 1)
        points = []
        for k in np.unique(code):
            here = code == k
            if here.sum() < FEWEST:
                continue
            value = float(self.mean_rating[here].mean())
            error = cluster_error(self.mean_rating[here], self.image[here])
            wide = 1.96 * error if np.isfinite(error) else 0.0
            points.append({"x": float(scaled[here].mean()), "y": value, "low": value - wide,
                           "high": value + wide, "series": metric})  # fmt: skip
        return points

    def liked(self, metric: str, scores: Floats, most: int) -> pl.DataFrame:
        """Captions rated in the top quarter of the scale, lowest score first."""
        low, top = float(self.ratings.min()), float(self.ratings.max())
        places = np.flatnonzero(self.mean_rating >= low + 0.75 * (top - low))
        chosen = places[np.lexsort((-self.mean_rating[places], scores[places]))][:most]
        return pl.DataFrame(
            {
                "ratings of": [self.name] * len(chosen), "metric": [metric] * len(chosen),
                "image": [self.given.captions[int(k)].image for k in chosen],
                "rating": self.mean_rating[chosen], "score": scores[chosen],
                "caption": [self.given.captions[int(k)].caption for k in chosen],
            }
        )  # fmt: skip


def _scores(
    rated: _Rated, corpus: Corpus, names: Sequence[str], progress: Progress
) -> Iterator[tuple[str, Floats]]:
    own = corpus.texts_by_image
    material = Material(
        [one.caption for one in rated.given.captions],
        [own[one.image] for one in rated.given.captions],
        None,
        Texts(default_folder()),
    )
    metrics, _ = choose_metrics(tuple(names))
    for done, metric in enumerate(metrics, 1):
        yield metric.name, np.asarray(metric.marks(material).each, float)
        progress("metrics", done, len(metrics))


def _mean_sentence(row: dict[str, Any]) -> str:
    return (
        f"{row['ratings of']}: {row['captions']:,} captions with {row['ratings']:,} ratings have "
        f"a mean of {row['mean']:.3f} ({row['low']:.3f} to {row['high']:.3f})."
    )


def _sentence(row: dict[str, Any]) -> str:
    low, high = row["tau_c_low"], row["tau_c_high"]
    ends = f"tau-c {row['tau_c']:.3f}"
    if low is None:
        return f"{row['ratings of']} and {row['metric']}: {ends}, from a single image."
    what = "no correlation is shown" if low <= 0 <= high else "they correlate"
    return (
        f"{row['ratings of']} and {row['metric']}: {what}, {ends} ({low:.3f} to {high:.3f}), "
        f"Spearman {row['spearman']:.3f}."
    )


def _panel(name: str, points: list[dict[str, Any]]) -> Panel:
    return Panel("lines", tuple(points), "score, scaled from 0 to 1 (its 99th percentile)",
                 f"mean rating{BAND}", name)  # fmt: skip


ANALYSIS = AnalysisKind(
    analyse_ratings, "tellapart analyse ratings results/ratings.csv --references captions.json"
)
