"""The verb `compare`: is the difference between two runs real, or noise?"""

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
    by_kind: Annotated[bool, Help("Also show the macro average and each kind of item.")] = False,
    on: On = None,
    resamples: Annotated[int, Help("Number of bootstrap resamples, and of sign flips.")] = 10_000,
    permutations: int | None = None,
    seed: Seed = 0,
) -> Comparison:
    """Compare runs in pairs, on the items both cover: is the difference real or noise?

    In Python: the interval of a difference is a paired bootstrap over clusters (groups of items
    that share images), the test flips signs over clusters, and Holm's correction covers all pairs
    for a benchmark and measure. `by_kind` adds the macro average and each kind of item, corrected
    over pairs and kinds together. `permutations` defaults to `resamples`.
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
