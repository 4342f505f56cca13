"""The verb `demo`: the whole toolkit on the built-in world, ending in a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tellapart import people_demonstration, registry
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.world.world import world
from tellapart.errors import BadInput
from tellapart.measures.scores import Scores, measure
from tellapart.measures.side_by_side import side_by_side
from tellapart.mine.build import build
from tellapart.mine.building import BuildOptions
from tellapart.people_demonstration import PeoplePart
from tellapart.reports.report import ReportOptions, report
from tellapart.score.evaluate import EvaluateOptions, evaluate

BENCHMARKS = {"bison": "oracle", "foil": "oracle", "mcic": "oracle", "bivlc": ""}
"""What is built, and the model that verifies it (bivlc is true by construction)."""
MODELS = ("oracle", "storybook", "blind", "chance", "constant")
PARTS = ("world", *BENCHMARKS, "runs", "report.html", *people_demonstration.PARTS)


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What came out: scores under both readings of a tie, the people's part, and the report.

    `people` is a sentence where the packages for studies are not installed.
    """

    scores: Scores
    halved: Scores
    people: PeoplePart | str
    report: Path

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "scores": self.scores.to_json(),
            "scores_with_ties_halved": self.halved.to_json(),
            "people": self.people if isinstance(self.people, str) else self.people.to_json(),
            "report": str(self.report),
        }

    def __str__(self) -> str:
        return f"{side_by_side(self.scores, self.halved)}\n\n{self.people}\n\nreport: {self.report}"


def demo(
    out: Path | str = "demo",
    *,
    scenes: int = 300,
    seed: int = 0,
    progress: Callable[[str, int, int], None] = lambda label, done, total: None,
) -> Demonstration:
    """Draw a world, build BISON, FOIL, MCIC and BiVLC on it, run the built-in models, report.

    The folder may be there from an earlier demo; anything else in the way is left alone.
    """
    out = Path(out)
    _check_free(out)
    corpus = world(
        out / "world", scenes=scenes, seed=seed, part="test", overwrite=True,
        progress=partial(progress, "drawing the world"),
    )  # fmt: skip
    benchmarks = []
    for what, verifier in BENCHMARKS.items():
        options = BuildOptions(
            seed=seed,
            verifier=verifier,
            overwrite=True,
            progress=partial(progress, f"building {what}"),
        )
        benchmarks.append(build(what, corpus, out / what, options))
    models = [name for name in MODELS if name in registry.models.names()]
    how = EvaluateOptions(seed=seed, overwrite=True)
    runs = evaluate(models, benchmarks, out / "runs", how, progress)
    scores, halved = measure(runs), measure(runs, ties="half")
    page = report(
        runs, out / "report.html",
        ReportOptions(
            title="tellapart demo",
            progress=lambda _, done, total: progress("writing the report", done, total),
        ),
    )  # fmt: skip
    people = _people(corpus, out, seed, partial(progress, "people answer"))
    return Demonstration(scores, halved, people, page)


def _people(
    corpus: Corpus, out: Path, seed: int, progress: Callable[[int, int], None]
) -> PeoplePart | str:
    missing = people_demonstration.missing_packages()
    if missing:
        return (
            f"people: left out, {', '.join(missing)} not installed (pip install tellapart[study])"
        )
    return people_demonstration.people_part(corpus, out, seed, progress)


def _check_free(out: Path) -> None:
    """A demo may replace an earlier demo, and nothing else."""
    if not out.exists():
        return
    strange = sorted(p.name for p in out.iterdir() if p.name not in PARTS)
    if not out.is_dir() or strange:
        raise BadInput(
            f"{out} holds something else than a demo: {', '.join(strange[:3])}",
            allowed="a path that does not exist yet, or the folder of an earlier demo",
            todo="name another folder: tellapart demo OUT",
        )
