"""The verb `measure`: a table of estimates from runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Help
from tellapart.verbs import Verb

if TYPE_CHECKING:
    import polars as pl

    from tellapart.audits.guesses import BestGuess
    from tellapart.measures.scores import Scores
    from tellapart.score.run import Run

Runs = Annotated["Run | Path | str | Sequence[Run | Path | str]", Help("Runs, or folders of runs.")]
MeasureNames = Annotated[
    Sequence[str] | None,
    Help("Measures, separated by commas (default: the benchmark's).", flag="--measure"),
]
Ties = Annotated[str, Help("Count a tie as wrong (strict), half or right, or drop it.")]
On = Annotated[Path | str | None, Help("The runs' benchmark, if it has moved.")]


By = Annotated[
    str,
    Help(
        "Also break down by a column: kind, family, target, pair, options, ... or one of "
        "--item-table."
    ),
]
ItemTable = Annotated[
    Path | str | None,
    Help("Your own table with a column item; its other columns can be used with --by."),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFlags:
    """What the command line prints beside the scores."""

    guessable: Annotated[
        bool, Help("Show beside each score what captions alone give away (ties halved).")
    ] = True


def measure(
    runs: Runs,
    *,
    measures: MeasureNames = None,
    ties: Ties = "wrong",
    by_kind: Annotated[bool, Help("Also show each kind of item, like --by kind.")] = False,
    by: By = "",
    item_table: ItemTable = None,
    outcomes: Annotated[
        Path | str | None,
        Help("Also write every question's outcome to a .csv, .tsv, .jsonl or .parquet file."),
    ] = None,
    fair_part: Annotated[
        Path | None,
        Help(
            "File with one item id per line (from audit --fair-part): also measure that part alone."
        ),
    ] = None,
    compare_with: Annotated[
        str,
        Help("published: also show published scores, marked as such.", choices=("", "published")),
    ] = "",
    on: On = None,
    resamples: Annotated[int, Help("Number of bootstrap resamples for the intervals.")] = 2_000,
) -> Scores:
    """Measure runs: an overview, then score, interval, chance and ties for each measure.

    In Python: `ties` is `wrong` (strict, as the papers define it), `half` (the expectation if ties
    are broken at random), `right` or `drop`. `measures` defaults to each benchmark's own. `by` is
    a column of the items or of the table `item_table`; `ta.outcomes(runs)` returns the table that
    `outcomes` writes.
    """
    from tellapart.measures.outcome_table import outcome_table, write_outcomes
    from tellapart.measures.scores import measure_runs, read_runs

    read = read_runs(runs, on)
    own = _own(item_table)
    if fair_part is not None:
        if by or by_kind or item_table is not None:
            raise BadInput(
                "--fair-part cannot be combined with another breakdown",
                todo="omit --by, --by-kind and --item-table",
            )
        own, by = _parts(read, fair_part), PART
    if outcomes is not None:
        write_outcomes(outcome_table(read, own, measures), Path(outcomes))
    scores = measure_runs(
        read,
        measures=measures,
        ties=ties,
        by=by or ("kind" if by_kind else ""),
        own=own,
        resamples=resamples,
    )
    return _with_published(scores, read) if compare_with else scores


def _with_published(scores: Scores, runs: Sequence[Run]) -> Scores:
    """Add published scores on the runs' benchmarks, for the main measures."""
    from tellapart.measures.contestants import benchmark_labels
    from tellapart.papers.lines import published_lines

    if scores.overview is None:
        return scores
    benchmarks = dict(zip(benchmark_labels(runs), (run.benchmark for run in runs), strict=True))
    lines = published_lines(benchmarks, scores.overview)
    return replace(scores, overview=replace(scores.overview, published=lines))


def outcomes(
    runs: Runs,
    *,
    measures: Sequence[str] | None = None,
    item_table: Path | str | None = None,
    on: Path | str | None = None,
) -> pl.DataFrame:
    """The outcome of every question of the runs: one row each, with facts about its item.

    For Python; on the command line it is `measure --outcomes FILE`.
    """
    from tellapart.measures.outcome_table import outcome_table
    from tellapart.measures.scores import read_runs

    return outcome_table(read_runs(runs, on), _own(item_table), measures)


PART, FAIR, REST = "part", "fair part", "the rest"


def _parts(runs: Sequence[Run], file: Path) -> pl.DataFrame:
    """Which items of the runs' benchmarks are listed in a file of ids."""
    import polars as pl

    from tellapart.files import read_text

    named = set(read_text(file).split())
    ids = pl.concat([run.benchmark.items.ids for run in runs]).unique(maintain_order=True)
    unknown = sorted(named - set(ids))
    if unknown or not named:
        raise BadInput(
            f"no run has the item {unknown[0]!r}" if named else "the file lists no items",
            where=str(file),
            allowed="ids of the runs' items, one per line",
            todo="write the file again: tellapart audit BENCH --fair-part FILE",
        )
    part = pl.Series(PART, [FAIR if name in named else REST for name in ids])
    return pl.DataFrame({"item": ids, PART: part})


def _own(path: Path | str | None) -> pl.DataFrame | None:
    from tellapart.files import read_table
    from tellapart.measures.item_columns import own_table

    return None if path is None else own_table(read_table(Path(path)))


Key = tuple[str, str, str]
"""Benchmark, measure and kind."""


def _guesses(given: Any) -> list[tuple[str, BestGuess]]:
    """What can be guessed from captions alone, by the benchmark's label."""
    from tellapart.audits.guesses import guessable
    from tellapart.measures.contestants import benchmark_labels
    from tellapart.measures.scores import read_runs

    runs = read_runs(given.runs, given.on)
    named = dict(zip(benchmark_labels(runs), (run.benchmark for run in runs), strict=True))
    return [
        (label, best) for label, benchmark in named.items() for best in guessable(benchmark).rows
    ]


def _column(guesses: list[tuple[str, BestGuess]]) -> dict[Key, str]:
    from tellapart.audits.guesses import NOTHING

    return {
        (label, best.estimate.measure, best.estimate.kind): (
            f"{100 * best.estimate.value:.1f}, {best.told}"
            if best.cue == NOTHING
            else f"{100 * best.estimate.value:.1f} by {best.told}"
        )
        for label, best in guesses
    }


def _text(scores: Scores, given: Any) -> str:
    if not given.guessable:
        return scores.to_text()
    guesses = _guesses(given)
    if scores.overview is not None:
        lines = [best.line(label) for label, best in guesses if best.estimate.kind == "micro"]
        scores = replace(scores, overview=scores.overview.with_guesses(lines))
    return scores.to_text(_column(guesses))


def _json(scores: Scores, given: Any) -> list[dict[str, Any]]:
    rows = scores.to_json()
    printed = scores.overview.to_json()["published"] if scores.overview is not None else []
    printed = [{"published": line.pop("label"), **line} for line in printed]
    if not given.guessable:
        return rows + printed
    guesses = _column(_guesses(given))
    with_guesses = [
        {**row, "guessable": guesses.get((row["benchmark"], row["measure"], row["kind"]), "")}
        for row in rows
    ]
    return with_guesses + printed


VERB = Verb(
    measure,
    example="tellapart measure runs --ties half",
    text=_text,
    json=_json,
    flags=MeasureFlags,
)
