"""Contestants: the names of runs, and which of them are only reference lines for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tellapart.measures.ties import TieRule
from tellapart.score.run import Run

REFERENCES = ("chance", "chance-chooser", "constant", "constant-chooser", "blind")
"""Models that never look: reference lines, never contestants."""


def is_reference(model: str) -> bool:
    """Whether a model never looks at pictures, so that its score is a line without a rank.

    >>> is_reference("chance?seed=3"), is_reference("storybook")
    (True, False)
    """
    return model.partition("?")[0].partition(" (")[0] in REFERENCES


def rule_for(run: Run, ties: TieRule) -> TieRule:
    """The tie rule for a run: for a model that never looks ties are halved, whatever is chosen.

    It cannot tell pictures apart; counting its ties as wrong would put every model above it.
    """
    return "half" if is_reference(run.model) else ties


def labels(runs: Sequence[Run]) -> list[str]:
    """The names of runs in every table: the model string.

    If a model was run twice on a benchmark, the part of the runs' paths that differs follows it,
    or a number.
    """
    often = Counter((run.model, run.benchmark.sha256) for run in runs)
    twice = {model for (model, _), number in often.items() if number > 1}
    made = [run.model for run in runs]
    for model in twice:
        own = [k for k, run in enumerate(runs) if run.model == model]
        for k, name in zip(own, _told_apart([runs[k] for k in own]), strict=True):
            made[k] = f"{model} ({name})"
    return made


def benchmark_labels(runs: Sequence[Run]) -> list[str]:
    """The names of the runs' benchmarks; versions with the same name get their hash."""
    versions: dict[str, set[str]] = {}
    for run in runs:
        versions.setdefault(run.benchmark.name, set()).add(run.benchmark.sha256)
    names = ((run.benchmark.name, run.benchmark.sha256[:8]) for run in runs)
    return [f"{name} ({short})" if len(versions[name]) > 1 else name for name, short in names]


def _told_apart(runs: Sequence[Run]) -> list[str]:
    """A name for each run of one model, unique among the runs of one benchmark."""
    paths = [run.folder.resolve().parts if run.folder else () for run in runs]
    places = [run.benchmark.sha256 for run in runs]
    for depth in range(1, min(map(len, paths)) + 1):
        names = [path[-depth] for path in paths]
        if len(set(zip(places, names, strict=True))) == len(runs):
            return names
    seen: Counter[str] = Counter()
    numbered = []
    for place in places:
        seen[place] += 1
        numbered.append(f"run {seen[place]}")
    return numbered
