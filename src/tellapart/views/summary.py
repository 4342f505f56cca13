"""Statistics of the items of a query: shares, by any fact, margins, agreement, and paired runs.

Intervals are computed from sums by group (Student's t over groups, on the logit scale for shares)
instead of by resampling, so that they follow a filter immediately; `measure` and `compare`
resample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from tellapart.measures.item_columns import Breakdown
from tellapart.reports.picks import RANKS, State
from tellapart.stats.intervals import student_interval, unchanging_interval
from tellapart.stats.power import difference_error
from tellapart.types import Bools, Floats, Ints
from tellapart.views.sheet import Sheet

BINS = 24
"""Number of bars in a histogram of margins."""
TAILS = (0.005, 0.995)
"""Values beyond these quantiles go into the outermost bars."""
RIGHT, UNASKED = RANKS.index(State.RIGHT), RANKS.index(State.UNASKED)


def summary(sheet: Sheet, rows: Ints, by: str) -> dict[str, Any]:
    """Every run's statistics on some items, overall and by a fact."""
    fact = sheet.facts.get(by)
    return {
        "n": len(rows),
        "by": by if fact else "",
        "runs": [
            {"label": one.label, "states": _states(sheet.ranks[rows, k]), **_share(sheet, rows, k)}
            for k, one in enumerate(sheet.contestants)
        ],
        "values": [] if fact is None else _by_value(sheet, rows, fact),
        "margins": [_histogram(sheet.margins[rows, k]) for k in range(len(sheet.contestants))],
        "agreement": _agreement(sheet.ranks[rows]) if sheet.judge else [],
    }


def _states(ranks: Any) -> dict[str, int]:
    counts = np.bincount(ranks, minlength=len(RANKS))
    return {str(state): int(counts[k]) for k, state in enumerate(RANKS)}


def _share(sheet: Sheet, rows: Ints, k: int) -> dict[str, Any]:
    """The mean value of the units of some items, as defined by the measure, with its interval."""
    value, units = sheet.worth[0][rows, k], sheet.worth[1][rows, k]
    there = units > 0
    size = float(units.sum())
    if not size:
        return {"value": None, "units": 0}
    mean = float(value.sum()) / size
    clusters = np.unique(sheet.groups[rows][there], return_inverse=True)[1]
    sums, counts = _summed(clusters, value[there]), _summed(clusters, units[there])
    if sheet.form == "captions":  # a mean of scores, not a share
        ends = difference_interval(sums / sheet.top, counts, mean / sheet.top)
        low, high = sheet.top * max(0.0, ends[0]), sheet.top * ends[1]
    else:
        interval = student_interval(sums, counts)
        low, high = interval.low, interval.high
    return {"value": mean, "low": low, "high": high, "units": int(size)}


def _summed(clusters: Ints, values: Floats) -> Floats:
    return np.bincount(clusters, values).astype(float)


def _by_value(sheet: Sheet, rows: Ints, fact: Breakdown) -> list[dict[str, Any]]:
    code = fact.code[rows]
    counts = np.bincount(code, minlength=len(fact.names))
    order = np.argsort(-counts, kind="stable")[:40] if len(counts) > 40 else np.arange(len(counts))
    return [
        {
            "name": fact.names[c],
            "n": int(counts[c]),
            "runs": [_share(sheet, rows[code == c], k) for k in range(len(sheet.contestants))],
        }
        for c in order.tolist()
        if counts[c]
    ]


def _histogram(margins: Any) -> dict[str, Any] | None:
    known = margins[np.isfinite(margins)]
    if not len(known):
        return None
    ties = int((known == 0).sum())
    known = known[known != 0]
    if not len(known):
        return {"low": -1.0, "step": 1.0, "counts": [0, 0], "zero": 1, "ties": ties}
    low, high = (float(end) for end in np.quantile(known, TAILS))
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - 1, high + 1
    # Zero is an edge between two bars, so that no bar mixes wrong and right items.
    step = (high - low) / BINS
    left, right = int(np.ceil(-low / step - 1e-9)), int(np.ceil(high / step - 1e-9))
    edges = np.arange(-left, right + 1) * step
    counts, _ = np.histogram(np.clip(known, edges[0], edges[-1]), edges)
    return {"low": float(edges[0]), "step": step, "counts": counts.tolist(), "zero": left,
            "ties": ties}  # fmt: skip


def _agreement(ranks: Any) -> list[list[dict[str, Any]]]:
    """For every two runs, the share of items on which both are right or both not, and kappa."""
    right, asked = ranks == RIGHT, ranks != UNASKED
    runs = ranks.shape[1]
    return [[_agree(right, asked, i, j) for j in range(runs)] for i in range(runs)]


def _agree(right: Bools, asked: Bools, i: int, j: int) -> dict[str, Any]:
    both = asked[:, i] & asked[:, j]
    n = int(both.sum())
    if not n:
        return {"n": 0, "share": None, "kappa": None}
    a, b = right[both, i], right[both, j]
    share = float((a == b).mean())
    expected = float(a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean()))
    kappa = None if expected == 1 else (share - expected) / (1 - expected)
    return {"n": n, "share": share, "kappa": kappa}


def paired(sheet: Sheet, rows: Ints, a: int, b: int) -> dict[str, Any]:
    """Two runs on the items of a query that both were asked.

    The difference is in the values of the measure's units; the interval is Student's t over groups
    of items (Cochran 1977, section 2.11, for a ratio of totals).
    """
    rows = rows[sheet.asked[rows, a] & sheet.asked[rows, b]]
    counted = {"n": len(rows), **_counted(sheet, rows, a, b)}
    if not len(rows):
        return {**counted, "difference": None}
    value, units = sheet.worth
    gap = value[rows, a] - value[rows, b]
    clusters = np.unique(sheet.groups[rows], return_inverse=True)[1]
    sums, counts = _summed(clusters, gap), _summed(clusters, units[rows, a])
    difference = float(gap.sum() / units[rows, a].sum())
    ends = difference_interval(sums / sheet.top, counts, difference / sheet.top)
    low, high = (sheet.top * end for end in ends)
    return {
        **counted, "difference": difference, "low": low, "high": high, "groups": len(sums),
        "first": _share(sheet, rows, a), "second": _share(sheet, rows, b),
    }  # fmt: skip


def _counted(sheet: Sheet, rows: Ints, a: int, b: int) -> dict[str, int]:
    """Counts of items by the outcomes of two runs; for captions, by whose score is higher."""
    if sheet.form == "captions":
        gap = sheet.margins[rows, a] - sheet.margins[rows, b]
        return {"higher": int((gap > 0).sum()), "lower": int((gap < 0).sum()),
                "level": int((gap == 0).sum())}  # fmt: skip
    right_a, right_b = (sheet.ranks[rows, k] == RIGHT for k in (a, b))
    return {
        "both": int((right_a & right_b).sum()),
        "only_a": int((right_a & ~right_b).sum()),
        "only_b": int((~right_a & right_b).sum()),
        "neither": int((~right_a & ~right_b).sum()),
    }


def difference_interval(sums: Floats, counts: Floats, difference: float) -> tuple[float, float]:
    """The 95% interval of a mean difference, from sums and counts by group."""
    # All groups alike (or only one) would give an interval of width zero, which is too certain.
    error = difference_error(sums, counts) if len(sums) > 1 else 0.0
    if error < 1e-12:
        return unchanging_interval(difference, float(len(sums)), 0.95)
    half = float(scipy.special.stdtrit(len(sums) - 1, 0.975)) * error
    return max(-1.0, difference - half), min(1.0, difference + half)
