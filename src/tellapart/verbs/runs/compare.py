"""The verb `compare`: is the difference of two runs real, or noise?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tellapart.options import Help, Seed
from tellapart.verbs import TableFlags, Verb, table_text
from tellapart.verbs.runs.measure import MeasureNames, On, Runs, Ties

if TYPE_CHECKING:
    from tellapart.measures.comparison import Comparison


def compare(
    runs: Runs,
    *,
    measures: MeasureNames = None,
    ties: Ties = "wrong",
    by_kind: Annotated[bool, Help("Also the macro average and each kind of item.")] = False,
    on: On = None,
    resamples: Annotated[int, Help("Bootstrap resamples, and as many sign flips.")] = 10_000,
    permutations: int | None = None,
    seed: Seed = 0,
) -> Comparison:
    """Compare runs, every two on what both cover: is the difference real or noise?

    In Python: the interval of a difference is a paired bootstrap over clusters (groups of items
    that share images), the test flips signs over clusters, and Holm's correction goes over all
    pairs of a benchmark and measure. `by_kind` adds the macro average and each kind of item,
    corrected over pairs and kinds together. There are as many `permutations` as `resamples` unless
    you say otherwise.
    """
    from tellapart.measures.comparison import compare_runs
    from tellapart.measures.scores import read_runs

    return compare_runs(
        read_runs(runs, on),
        measures=measures,
        ties=ties,
        by_kind=by_kind,
        resamples=resamples,
        permutations=resamples if permutations is None else permutations,
        seed=seed,
    )


VERB = Verb(
    compare,
    example="tellapart compare runs --measure Group --by-kind",
    text=table_text,
    flags=TableFlags,
)
