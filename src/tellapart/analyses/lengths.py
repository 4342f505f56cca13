"""`analyse lengths`: lengths and parts of speech of captions (BISON, Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from tellapart import seeds
from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions, ResultTable
from tellapart.analyses.figure import Figure, Panel
from tellapart.analyses.sources import Benchmarks, benchmarks_of, cluster_error, true_captions
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput
from tellapart.options import Help
from tellapart.store.cache import default_folder
from tellapart.text.tokens import tokens
from tellapart.types import Ints, Progress, silent

LONGEST = 25
PARTS = ("NOUN", "VERB", "ADJ", "ADV", "ADP", "DET", "PRON", "NUM", "AUX", "CCONJ", "PROPN")
"""Universal parts of speech that are shown; all others are summed."""
OTHER = "other"
FORMS = {"share": "percent", "mean": ".2f", "low": ".2f", "difference": "+.2f",
         "difference_low": "+.2f"}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthOptions(AnalysisOptions):
    """What to compare benchmarks with."""

    beside: Annotated[
        Path | None, Help("A corpus to compare with, usually the source of the benchmarks.")
    ] = None
    limit: Annotated[int, Help("Parse a random sample of at most this many captions each.")] = 5_000
    parts: Annotated[bool, Help("Count parts of speech, too (needs the extra text).")] = True


@dataclass(frozen=True, slots=True, eq=False)
class _Texts:
    """Captions of one source; a cluster is one image, or items that share images."""

    name: str
    captions: Sequence[str]
    clusters: Ints
    words: Ints

    @classmethod
    def of(cls, name: str, captions: Sequence[str], clusters: Ints) -> _Texts:
        words = np.array([len(tokens(caption)) for caption in captions], np.int64)
        if not len(words):
            raise BadInput(f"{name} has no captions")
        return cls(name, captions, clusters, words)


def analyse_lengths(
    benchmarks: Benchmarks,
    options: LengthOptions = LengthOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Analysis:
    """How long captions are and which parts of speech they have, beside a corpus.

    In a benchmark, the captions that are true of an image count, once for each item.
    """
    sources = [_of_benchmark(one) for one in benchmarks_of(benchmarks)]
    if options.beside is not None:
        corpus = read_corpus(options.beside)
        images = np.unique(corpus.captions["image"].to_numpy(), return_inverse=True)[1]
        sources.append(_Texts.of(corpus.name, corpus.captions["text"].to_list(), images))
    names = [one.name for one in sources]
    if len(set(names)) < len(names):
        sources = [
            _Texts(f"{one.name} #{k}", one.captions, one.clusters, one.words)
            for k, one in enumerate(sources, 1)
        ]
    means = _means(sources, with_corpus=options.beside is not None)
    tables = [
        ResultTable("means", "Words per caption", means, FORMS),
        ResultTable("lengths", "Share of captions of each length", _lengths(sources), FORMS),
    ]
    if options.parts:
        parts = _parts(sources, options, progress)
        tables.append(ResultTable("parts", "Share of words of each part of speech", parts, FORMS))
    sentences = _sentences(means, tables, with_corpus=options.beside is not None)
    methods = ["interval: over images, or over groups of items that share images"]
    if options.parts:
        methods.append(f"parts of speech: spaCy, on at most {options.limit:,} captions of each")
    title = "Captions of " + ", ".join(one.name for one in sources)
    return Analysis(
        "lengths", title, sentences, tuple(tables), _figure(title, tables), tuple(methods)
    )


def _of_benchmark(benchmark: Benchmark) -> _Texts:
    every = list(true_captions(benchmark))
    places = np.array([place for place, _ in every], np.int64)
    groups = benchmark.items.groups[1][places]
    return _Texts.of(benchmark.name, [text for _, text in every], groups)


def _means(sources: Sequence[_Texts], *, with_corpus: bool) -> pl.DataFrame:
    """Mean lengths; with a corpus, also the difference from it (independent samples)."""
    rows: list[dict[str, Any]] = []
    last = sources[-1]
    for one in sources:
        mean, error = float(one.words.mean()), cluster_error(one.words.astype(float), one.clusters)
        row = {"source": one.name, "captions": len(one.words), "mean": mean,
               "low": mean - 1.96 * error, "high": mean + 1.96 * error}  # fmt: skip
        if with_corpus:
            base = cluster_error(last.words.astype(float), last.clusters)
            gap, wide = mean - float(last.words.mean()), 1.96 * float(np.hypot(error, base))
            own = one is not last
            row |= {"difference": gap if own else None,
                    "difference_low": gap - wide if own else None,
                    "difference_high": gap + wide if own else None}  # fmt: skip
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)


def _lengths(sources: Sequence[_Texts]) -> pl.DataFrame:
    rows = []
    shortest = min(int(one.words.min()) for one in sources)
    for one in sources:
        shares = np.bincount(np.minimum(one.words, LONGEST), minlength=LONGEST + 1) / len(one.words)
        rows += [
            {
                "source": one.name,
                "words": f"{k}+" if k == LONGEST else str(k),
                "share": float(share),
            }
            for k, share in list(enumerate(shares))[shortest:]
        ]
    return pl.DataFrame(rows)


def _parts(sources: Sequence[_Texts], options: LengthOptions, progress: Progress) -> pl.DataFrame:
    from tellapart.text.parse import parse

    drawn: list[list[str]] = []
    for one in sources:
        order = seeds.rng(options.seed, "lengths", one.name).permutation(len(one.captions))
        drawn.append([one.captions[int(k)] for k in np.sort(order[: options.limit])])
    texts = [text for own in drawn for text in own]
    columns = parse(texts, cache=default_folder(), progress=progress).columns
    names = np.array(columns.poses)[columns.pos]
    ends = columns.starts[np.cumsum([0, *map(len, drawn)])]
    rows = []
    for one, begin, end in zip(sources, ends[:-1], ends[1:], strict=True):
        own = names[begin:end]
        shares = _shares(own[~np.isin(own, ("PUNCT", "SPACE", "SYM"))])
        rows += [
            {"source": one.name, "part": part, "share": shares[part]} for part in (*PARTS, OTHER)
        ]
    return pl.DataFrame(rows)


def _shares(names: Any) -> dict[str, float]:
    total = max(1, len(names))
    shares = {part: float((names == part).sum() / total) for part in PARTS}
    return {**shares, OTHER: max(0.0, 1 - sum(shares.values()))}


def _sentences(
    means: pl.DataFrame, tables: Sequence[ResultTable], *, with_corpus: bool
) -> tuple[str, ...]:
    told = []
    for row in means.iter_rows(named=True):
        ends = f"{row['low']:.2f} to {row['high']:.2f}"
        text = f"{row['source']}: {row['mean']:.2f} words per caption ({ends})"
        gap = row.get("difference")
        if with_corpus and gap is not None:
            ends = f"{row['difference_low']:+.2f} to {row['difference_high']:+.2f}"
            last = means["source"][-1]
            shown = not row["difference_low"] <= 0 <= row["difference_high"]
            way = (
                ("longer" if gap > 0 else "shorter")
                if shown
                else "not shown to be longer or shorter"
            )
            text += f", {way} than those of {last}: difference {gap:+.2f} ({ends})"
        told.append(f"{text}.")
    parts = next((one.frame for one in tables if one.name == "parts"), None)
    if parts is not None and with_corpus:
        told += _part_sentences(parts)
    return tuple(told)


def _part_sentences(parts: pl.DataFrame) -> list[str]:
    """Half the sum of absolute differences in shares: the part of one that would have to change."""
    names = parts["source"].unique(maintain_order=True).to_list()
    last = dict(parts.filter(pl.col("source") == names[-1]).select("part", "share").iter_rows())
    told = []
    for name in names[:-1]:
        own = dict(parts.filter(pl.col("source") == name).select("part", "share").iter_rows())
        gaps = {part: own[part] - last[part] for part in own}
        far = max(gaps, key=lambda part: abs(gaps[part]))
        total = 50 * sum(map(abs, gaps.values()))
        told.append(
            f"{name}: parts of speech differ from those of {names[-1]} by {total:.1f}% of words, "
            f"mostly in {far} ({100 * own[far]:.1f}% against {100 * last[far]:.1f}%)."
        )
    return told


def _figure(title: str, tables: Sequence[ResultTable]) -> Figure:
    by_name = {one.name: one.frame for one in tables}
    panels = []
    words = []
    for name, column, axis in (
        ("lengths", "words", "words per caption"),
        ("parts", "part", "part of speech"),
    ):
        if name not in by_name:
            continue
        frame = by_name[name]
        rows = tuple(
            {"label": row[column], "y": 100 * row["share"], "series": row["source"]}
            for row in frame.iter_rows(named=True)
        )
        panels.append(
            Panel("bars", rows, axis, f"% of {'captions' if name == 'lengths' else 'words'}")
        )
        words.append("; ".join(f"{r['series']} {r['label']}: {r['y']:.1f}%" for r in rows))
    return Figure(title, f"{title}. {'. '.join(words)}.", tuple(panels))


ANALYSIS = AnalysisKind(
    analyse_lengths, "tellapart analyse lengths bison --beside captions_val2014.json"
)
