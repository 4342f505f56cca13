"""How scores depend on the number of references: BISON's figure 4 (Hu et al. 2019, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.measures.captioning.judging import Progress, judge
from tellapart.measures.captioning.results import FewerReferences
from tellapart.text.caption_metrics.metric import CaptionMetric, Material

References = Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Fewer:
    """Numbers of references to use, and how often random ones are drawn."""

    used: tuple[int, ...] = ()
    repeats: int = 10
    seed: int = 0

    def check(self) -> None:
        """Raise where a number makes no sense."""
        if min(self.used, default=1) < 1:
            raise BadInput(f"{min(self.used)} references are none", allowed="1 or more")
        if self.repeats < 1:
            raise BadInput(f"{self.repeats} draws of references are none", allowed="1 or more")

    def drawn(self, references: References, used: int, repeat: int) -> list[list[str]]:
        """So many of each image's references, without replacement; all where it has fewer."""
        rng = seeds.rng(self.seed, "references", used, repeat)
        return [
            [own[k] for k in np.sort(rng.permutation(len(own))[:used]).tolist()]
            for own in references
        ]


def with_fewer(
    systems: Sequence[str],
    materials: Sequence[Material],
    metrics: Sequence[CaptionMetric],
    fewer: Fewer,
    progress: Progress,
) -> list[FewerReferences]:
    """Scores with random references left out; the same ones for every system.

    Document frequencies, unless they are given, are those of the references that are used, as if
    no others had been collected.
    """
    references = materials[0].references
    most = max(map(len, references))
    made = []
    for used in fewer.used:
        repeats = fewer.repeats if used < most else 1
        values = np.empty((repeats, len(metrics), len(systems)))
        for repeat in range(repeats):
            drawn = fewer.drawn(references, used, repeat)
            some = [replace(material, references=drawn) for material in materials]
            table = judge(some, metrics, lambda label, done, total: None)
            values[repeat] = [[marks.overall for marks in row] for row in table]
            progress(f"{used} references", repeat + 1, repeats)
        short = sum(len(own) < used for own in references)
        made += [
            FewerReferences(
                system, metric.name, used, repeats, float(values[:, m, s].mean()),
                float(values[:, m, s].std(ddof=1)) if repeats > 1 else 0.0,
                short, metric.scale,
            )
            for m, metric in enumerate(metrics)
            for s, system in enumerate(systems)
        ]  # fmt: skip
    return made
