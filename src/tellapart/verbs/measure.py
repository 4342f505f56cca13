"""The verb `measure`: runs in, a table of estimates out that prints itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.options import Help
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.measures.scores import Scores
    from tellapart.score.run import Run

Runs = Annotated["Run | Path | str | Sequence[Run | Path | str]", Help("Runs, or folders of runs.")]
MeasureNames = Annotated[
    Sequence[str] | None,
    Help("Names, separated by commas (default: the benchmark's).", flag="--measure"),
]
Ties = Annotated[str, Help("A tie counts as: wrong (strict), half, right, drop.")]
On = Annotated[Path | str | None, Help("The runs' benchmark, if it has moved.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasureFlags:
    """What stands beside the scores on the command line."""

    guessable: Annotated[
        bool, Help("Beside each score what captions alone give away (ties halved).")
    ] = True


def measure(
    runs: Runs,
    *,
    measures: MeasureNames = None,
    ties: Ties = "wrong",
    by_kind: Annotated[bool, Help("Also each kind of item.")] = True,
    on: On = None,
    resamples: Annotated[int, Help("Bootstrap resamples for the intervals.")] = 2_000,
) -> Scores:
    """Measure runs: score, interval, chance level and ties, overall and by kind.

    In Python: `ties` is `wrong` (strict, as the papers define it), `half` (the expectation under
    random breaking), `right` or `drop`. Without `measures` each benchmark's own are taken.
    """
    from tellapart.measures.scores import measure_runs, read_runs

    return measure_runs(
        read_runs(runs, on), measures=measures, ties=ties, by_kind=by_kind, resamples=resamples
    )


Key = tuple[str, str, str]
"""Benchmark, measure and kind."""


def _guesses(given: Any) -> dict[Key, str]:
    """What can be guessed from captions alone."""
    from tellapart.audits.guesses import guessable
    from tellapart.measures.scores import read_runs

    benchmarks = [run.benchmark for run in read_runs(given.runs, given.on)]
    guesses = {}
    for benchmark in {b.sha256: b for b in benchmarks}.values():
        for best in guessable(benchmark, resamples=100).rows:
            own = best.estimate
            key = (own.benchmark, own.measure, own.kind)
            guesses[key] = f"{100 * own.value:.1f} by {best.cue}"
    return guesses


def _text(scores: Scores, given: Any) -> str:
    return scores.to_text(_guesses(given) if given.guessable else None)


def _json(scores: Scores, given: Any) -> list[dict[str, Any]]:
    rows = scores.to_json()
    if not given.guessable:
        return rows
    guesses = _guesses(given)
    return [
        {**row, "guessable": guesses.get((row["benchmark"], row["measure"], row["kind"]), "")}
        for row in rows
    ]


VERB = Verb(
    measure,
    example="tellapart measure runs --ties half",
    text=_text,
    json=_json,
    flags=MeasureFlags,
)
