"""Judging captions: every system by every metric, with intervals, tests and fewer references."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput
from tellapart.measures.captions.judgements import correlate, read_judgements
from tellapart.measures.captions.metric_scores import (
    CaptionPair,
    CaptionScore,
    CaptionScores,
    FewerReferences,
)
from tellapart.measures.captions.systems import (
    JudgedImages,
    SystemCaptions,
    bring_together,
    read_system,
)
from tellapart.measures.options import GIVEN, JUDGED, CaptionOptions
from tellapart.registry import caption_metrics
from tellapart.stats.differences import holm
from tellapart.stats.totals import Swapped, interval_of, resampled_totals
from tellapart.store.cache import default_folder
from tellapart.text.caption_metrics.metric import CaptionMetric, Marks, Material, Texts, metric_of
from tellapart.text.caption_metrics.references import DocumentFrequencies
from tellapart.text.preparation import Preparation
from tellapart.types import Floats, Progress, silent

ALL = "all"
Results = Path | str | SystemCaptions
MarksTable = tuple[tuple[Marks, ...], ...]
"""The marks of each system (inner) by each metric (outer)."""
MOST_NAMED = 5
SAME = 1e-12
"""Two scores of a caption that are closer than this count as level."""


def choose_metrics(names: tuple[str, ...]) -> tuple[list[CaptionMetric], list[str]]:
    """Metrics by name, and why `all` leaves some out; a metric that is named must run."""
    if not names:
        raise BadInput("no metric was named", allowed=", ".join((*caption_metrics.names(), ALL)))
    able: dict[str, CaptionMetric] = {}
    left_out = []
    for name in caption_metrics.names() if ALL in names else names:
        metric = metric_of(name)
        problem = metric.lacking()
        if problem is None:
            able[metric.name] = metric
        elif ALL in names:
            todo = f" ({problem.todo})" if problem.todo else ""
            left_out.append(f"{name} is left out: {problem.what}{todo}")
        else:
            raise problem
    return list(able.values()), left_out


def metrics_that_run(names: tuple[str, ...]) -> tuple[str, ...]:
    """The metrics whose requirements are installed."""
    return tuple(name for name in names if metric_of(name).lacking() is None)


def judge_captions(
    results: Results | Sequence[Results],
    references: Corpus | Path | str,
    options: CaptionOptions = CaptionOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> CaptionScores:
    """Judge one system's captions, or several systems side by side.

    `results` are COCO results files or tables with an image and a caption in each row;
    `references` is any corpus that can be read. Systems are judged on the images that have
    references and that all systems captioned; the remarks say what is left out.
    """
    options.check()
    metrics, left_out = choose_metrics(options.metrics)
    systems = _systems(results, options)
    if not isinstance(references, Corpus):
        references = read_corpus(references, options.reading)
    if options.prepare:
        systems, references = _prepared(systems, references, options)
    texts = Texts(options.cache or default_folder())
    frequencies = _frequencies(options, references, texts)
    skipped = (f"references: left out: {what}" for what in references.skipped[:5])
    found = CaptionScores(
        (), (), (), pl.DataFrame(), (*skipped, *left_out), tuple(_naming(metrics, options))
    )
    if systems:
        judged = bring_together(
            systems, references, skip_bad=options.skip_bad, every=options.every_image
        )
        materials = [
            Material(own, judged.references, frequencies, texts) for own in judged.captions
        ]
        found = _with_systems(found, judged, materials, metrics, options, progress)
    if options.judgements is not None:
        found = _with_judgements(found, references, frequencies, texts, options, progress)
    return found


def _with_systems(
    found: CaptionScores,
    judged: JudgedImages,
    materials: Sequence[Material],
    metrics: Sequence[CaptionMetric],
    options: CaptionOptions,
    progress: Progress,
) -> CaptionScores:
    table = judge(materials, metrics, progress)
    fewer = with_fewer(judged.systems, materials, metrics, options, progress)
    drawn = ResampledMarks.of(table, options)
    return replace(
        found,
        scores=tuple(scores_of(judged, metrics, drawn)),
        pairs=tuple(pairs_of(judged, metrics, drawn, options)),
        fewer=tuple(fewer),
        per_image=_per_image(judged, metrics, table),
        remarks=(*judged.remarks, *_failures(judged, metrics, table), *found.remarks),
        methods=(*_methods(judged, options), *found.methods),
    )


def _with_judgements(
    found: CaptionScores,
    references: Corpus,
    frequencies: DocumentFrequencies | None,
    texts: Texts,
    options: CaptionOptions,
    progress: Progress,
) -> CaptionScores:
    """The scores with the metrics' correlations with ratings by people."""
    assert options.judgements is not None
    given = read_judgements(
        options.judgements, references, image=options.image_column,
        caption=options.caption_column, skip_bad=options.skip_bad,
    )  # fmt: skip
    own = references.texts_by_image
    material = Material(
        [one.caption for one in given.captions],
        [own[one.image] for one in given.captions],
        frequencies,
        texts,
    )
    metrics, _ = choose_metrics(options.metrics)
    rows = correlate(given, material, metrics, options.rng("judgements"), progress)
    method = (
        "correlations: each rating is a row; tau-c uses the smaller number of distinct values; "
        "interval: jackknife over images"
    )
    return replace(
        found,
        judgements=tuple(rows),
        remarks=(*found.remarks, *given.remarks),
        methods=(*found.methods, method),
    )


def _prepared(
    systems: list[SystemCaptions], references: Corpus, options: CaptionOptions
) -> tuple[list[SystemCaptions], Corpus]:
    """The systems' captions and the references, prepared alike."""
    counted = references
    if options.words_from:
        counted = read_corpus(options.words_from, options.reading)
    how = Preparation.of(options.prepare, counted.captions["text"])
    own = [
        replace(one, captions={image: how.text(text) for image, text in one.captions.items()})
        for one in systems
    ]
    texts = pl.Series("text", [how.text(text) for text in references.captions["text"]], pl.String)
    return own, replace(references, captions=references.captions.with_columns(texts))


def _systems(results: Results | Sequence[Results], options: CaptionOptions) -> list[SystemCaptions]:
    every = [results] if isinstance(results, Results) else list(results)
    if not every and options.judgements is None:
        raise BadInput(
            "no results were given", allowed="one file or more, or ratings with --judgements"
        )
    return [
        one
        if isinstance(one, SystemCaptions)
        else read_system(
            one, options.image_column, options.caption_column, skip_bad=options.skip_bad
        )
        for one in every
    ]


def _frequencies(
    options: CaptionOptions, references: Corpus, texts: Texts
) -> DocumentFrequencies | None:
    """The source of CIDEr's weights; None for the references of the judged images."""
    if options.frequencies == JUDGED:
        return None
    corpus = references
    if options.frequencies != GIVEN:
        corpus = read_corpus(options.frequencies, options.reading)
    return DocumentFrequencies.of([texts.tokens(own) for own in corpus.texts_by_image.values()])


def _per_image(
    judged: JudgedImages, metrics: Sequence[CaptionMetric], table: MarksTable
) -> pl.DataFrame:
    """One row per image and system: the caption and its score by each metric."""
    return pl.concat(
        pl.DataFrame(
            {"system": system, "image": judged.images, "caption": judged.captions[s]}
        ).with_columns(pl.Series(m.name, table[k][s].each) for k, m in enumerate(metrics))
        for s, system in enumerate(judged.systems)
    )


def _failures(
    judged: JudgedImages, metrics: Sequence[CaptionMetric], table: MarksTable
) -> Iterator[str]:
    """Captions that could not be judged, with their images; they count as 0, never drop out."""
    for metric, row in zip(metrics, table, strict=True):
        for system, marks in zip(judged.systems, row, strict=True):
            if marks.failed:
                named = ", ".join(judged.images[k] for k in marks.failed[:MOST_NAMED])
                more = "" if len(marks.failed) <= MOST_NAMED else ", ..."
                yield (
                    f"{metric.name} could not judge {len(marks.failed):,} captions of {system}, "
                    f"which count as 0: {named}{more}"
                )


def _methods(judged: JudgedImages, options: CaptionOptions) -> list[str]:
    """How the numbers were computed, in words."""
    images = len(judged.images)
    methods = [f"scores are times 100; {images:,} image{'' if images == 1 else 's'}"]
    if options.prepare:
        where = options.words_from or "the references"
        methods.append(
            f"captions and references are prepared as in {options.prepare}: letters only, lower "
            "case, the first 30 words, one token for all words seen fewer than five times in "
            f"{where}"
        )
    if images > 1:
        methods.append(
            f"interval: bootstrap over images, {options.resamples:,} resamples; BLEU and METEOR "
            "are computed from resampled counts, CIDEr keeps its document frequencies"
        )
    if len(judged.systems) > 1 and images > 1:
        methods.append(
            "test: approximate randomization, swapping the systems' captions on random images "
            f"{options.permutations:,} times; interval of A - B: paired bootstrap"
        )
    if options.references_used:
        methods.append(
            f"fewer references: random, {options.repeats} draws, mean ± standard deviation; "
            "below, the share of the score with all references"
        )
    return methods


def _naming(metrics: Sequence[CaptionMetric], options: CaptionOptions) -> list[str]:
    """Which CIDEr is meant, and where its weights come from."""
    names = [metric.name.partition("?")[0] for metric in metrics]
    lines = []
    if "CIDEr-D" in names:
        lines.append("CIDEr-D is what papers and the COCO scripts call CIDEr")
    if "CIDEr" in names:
        lines.append(
            "CIDEr is the paper's first form (no clipping, no length penalty, no factor 10), "
            "which hardly anyone reports: do not compare it with published figures"
        )
    if lines:
        source = {JUDGED: "the references of these images", GIVEN: "all references given"}
        where = source.get(options.frequencies, options.frequencies)
        lines.append(f"CIDEr's document frequencies come from {where}")
    return lines


def judge(
    materials: Sequence[Material], metrics: Sequence[CaptionMetric], progress: Progress
) -> MarksTable:
    """All marks; there is one material per system."""
    table = []
    for metric in metrics:
        row = []
        for k, material in enumerate(materials, 1):
            row.append(metric.marks(material))
            progress(metric.name, k, len(materials))
        table.append(tuple(row))
    return tuple(table)


@dataclass(frozen=True, slots=True)
class ResampledMarks:
    """All marks, and their features summed over resampled images, the same images for all."""

    table: MarksTable
    totals: Floats
    begins: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, table: MarksTable, options: CaptionOptions) -> ResampledMarks:
        """Resample once for all metrics and systems."""
        columns = [marks.features for row in table for marks in row]
        ends = iter(np.cumsum([0, *(c.shape[1] for c in columns)]).tolist())
        begins = tuple(tuple(next(ends) for _ in row) for row in table)
        every = np.concatenate(columns, axis=1)
        return cls(table, resampled_totals(every, options.rng("images"), options.resamples), begins)

    def scores(self, m: int, s: int) -> Floats:
        """A system's score by a metric, one value per resample."""
        marks, begin = self.table[m][s], self.begins[m][s]
        return marks.statistic(self.totals[:, begin : begin + marks.features.shape[1]])


def scores_of(
    judged: JudgedImages, metrics: Sequence[CaptionMetric], drawn: ResampledMarks
) -> Iterator[CaptionScore]:
    """One score per metric and system."""
    images = len(judged.images)
    for m, metric in enumerate(metrics):
        for s, system in enumerate(judged.systems):
            value, low, high = drawn.table[m][s].overall, None, None
            if images > 1:
                low, high = interval_of(drawn.scores(m, s), images)
            yield CaptionScore(system, metric.name, value, low, high, images, metric.scale)


def pairs_of(
    judged: JudgedImages,
    metrics: Sequence[CaptionMetric],
    drawn: ResampledMarks,
    options: CaptionOptions,
) -> Iterator[CaptionPair]:
    """Each pair of systems by each metric, with Holm's correction over the pairs of a metric."""
    couples = list(combinations(range(len(judged.systems)), 2))
    if not couples or len(judged.images) < 2:
        return
    for m, metric in enumerate(metrics):
        pairs = [_pair(judged, metric, drawn, m, couple, options) for couple in couples]
        adjusted = holm(np.array([pair.p for pair in pairs]))
        for pair, p in zip(pairs, adjusted, strict=True):
            yield replace(pair, p_holm=float(p))


def _pair(
    judged: JudgedImages,
    metric: CaptionMetric,
    drawn: ResampledMarks,
    m: int,
    couple: tuple[int, int],
    options: CaptionOptions,
) -> CaptionPair:
    one, other = couple
    first, second = drawn.table[m][one], drawn.table[m][other]
    names = judged.systems[one], judged.systems[other]
    resampled = drawn.scores(m, one) - drawn.scores(m, other)
    low, high = interval_of(resampled, len(judged.images))
    rng = options.rng("swaps", metric.name, *names)
    swapped = Swapped.of(first.features - second.features, rng, options.permutations)
    # With only sums at hand: after a swap, the first system's totals are the second's plus the gaps
    # that stay with the first; the second's totals are the first's minus the same gaps.
    after = first.statistic(second.features.sum(axis=0) + swapped.gaps)
    after = after - first.statistic(first.features.sum(axis=0) - swapped.gaps)
    difference, each = first.overall - second.overall, first.each - second.each
    p = swapped.p(after, difference)
    return CaptionPair(
        metric.name, *names, first.overall, second.overall, difference, low, high, p, p,
        won=int((each > SAME).sum()), lost=int((each < -SAME).sum()), images=len(each),
        scale=metric.scale, exact=swapped.exact,
    )  # fmt: skip


def with_fewer(
    systems: Sequence[str],
    materials: Sequence[Material],
    metrics: Sequence[CaptionMetric],
    options: CaptionOptions,
    progress: Progress,
) -> list[FewerReferences]:
    """Scores with random references left out; the same ones for every system.

    BISON's figure 4 (Hu et al. 2019, section 3): how scores depend on the number of references.
    Unless given, document frequencies come from the references used, as if no others existed.
    """
    references = materials[0].references
    most = max(map(len, references))
    rows = []
    for used in options.references_used:
        repeats = options.repeats if used < most else 1
        values = np.empty((repeats, len(metrics), len(systems)))
        for repeat in range(repeats):
            drawn = drawn_references(references, used, options.seed, repeat)
            some = [replace(material, references=drawn) for material in materials]
            table = judge(some, metrics, silent)
            values[repeat] = [[marks.overall for marks in row] for row in table]
            progress(f"{used} references", repeat + 1, repeats)
        short = sum(len(own) < used for own in references)
        rows += [
            FewerReferences(
                system, metric.name, used, repeats, float(values[:, m, s].mean()),
                float(values[:, m, s].std(ddof=1)) if repeats > 1 else 0.0,
                short, metric.scale,
            )
            for m, metric in enumerate(metrics)
            for s, system in enumerate(systems)
        ]  # fmt: skip
    return rows


def drawn_references(
    references: Sequence[Sequence[str]], used: int, seed: int, repeat: int
) -> list[list[str]]:
    """`used` random references of each image, or all if it has fewer; in order, none twice."""
    rng = seeds.rng(seed, "references", used, repeat)
    return [
        [own[k] for k in np.sort(rng.permutation(len(own))[:used]).tolist()] for own in references
    ]
