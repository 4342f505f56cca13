"""The demo's study: pairs of images, simulated people over HTTP, a verified benchmark.

BISON's three steps (Hu et al. 2019, section 4.1) on a small scale: one person picks a caption for
each pair, two others say which image it describes, and what both say rightly is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tellapart.corpus.corpus import Corpus
from tellapart.errors import TellapartError
from tellapart.mine.bison.options import BisonOptions
from tellapart.mine.build import build
from tellapart.mine.building import BuildOptions

NEEDED = ("fastapi", "uvicorn", "sqlalchemy", "httpx")
PAIRS, PEOPLE, ERROR = 60, 6, 0.1
ANSWERS = 4
"""First picture, second, both, neither."""
PARTS = ("pairs", "study", "people")


@dataclass(frozen=True, slots=True)
class PeoplePart:
    """What the people gave: pairs, picked, verified, and how far the two verifiers agree."""

    pairs: int
    picked: int
    verified: int
    alpha: float
    low: float
    high: float
    expected: float
    benchmark: Path

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "pairs": self.pairs,
            "picked": self.picked,
            "verified": self.verified,
            "alpha": self.alpha,
            "interval": [self.low, self.high],
            "alpha_expected": self.expected,
            "benchmark": str(self.benchmark),
        }

    def __str__(self) -> str:
        return (
            f"people (simulated, each errs in {100 * ERROR:.0f}%): {self.pairs} pairs of images, "
            f"{self.picked} with a caption that was picked, {self.verified} verified by two others "
            f"->  {self.benchmark}\nagreement of the verifiers: Krippendorff's alpha "
            f"{self.alpha:.2f} [{self.low:.2f}, {self.high:.2f}], expected of such people "
            f"{self.expected:.2f}"
        )


def missing_packages() -> list[str]:
    """Packages of the extra `study` that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def people_part(
    corpus: Corpus, out: Path, seed: int, progress: Callable[[int, int], None]
) -> PeoplePart:
    """Build pairs, let simulated people pick and verify, export."""
    from tellapart.study.effort import expected_kappa
    from tellapart.study.export import export_study
    from tellapart.study.folder import StudySetup, create_study
    from tellapart.study.plan import find_recipe
    from tellapart.study.server.crowd import Crowd, Habits, simulate
    from tellapart.study.server.host import served
    from tellapart.study.study import opened_study

    own = BisonOptions(for_study=True, vectors="tf-idf", parser="none")
    build(
        "bison",
        corpus,
        out / "pairs",
        BuildOptions(seed=seed, items=PAIRS, overwrite=True, own=own),
    )
    setup = StudySetup(find_recipe("bison").stages, name="demo", seed=seed, overwrite=True)
    create_study(out / "pairs", out / "study", setup)
    with opened_study(out / "study") as study:
        with served(study) as url:
            crowd = Crowd(PEOPLE, 1, seed, Habits(ERROR))
            simulate(study, url, crowd, lambda _phase, done, total: progress(done, total))
        found = export_study(study, out / "people", overwrite=True)
    picked, checked = found.funnel
    alphas = [
        row
        for row in found.agreement
        if row.stage == "verify" and row.measure == "Krippendorff's alpha"
    ]
    if not alphas:
        raise TellapartError("the simulated people verified nothing", todo="draw more scenes")
    return PeoplePart(
        picked.came, picked.kept, checked.kept, alphas[0].value, alphas[0].low, alphas[0].high,
        expected_kappa(ERROR, ANSWERS), out / "people" / "verified",
    )  # fmt: skip
