"""The verb `demo`: the whole toolkit on the built-in world, ending in a report."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart import registry
from tellapart.errors import BadInput
from tellapart.options import Help, Seed
from tellapart.types import Progress, silent
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.corpus.corpus import Corpus
    from tellapart.measures.overview import ReferenceLine
    from tellapart.measures.scores import Scores

BENCHMARKS = {"bison": "oracle", "foil": "oracle", "mcic": "oracle", "bivlc": ""}
"""The benchmarks to build, each with the model that verifies it (bivlc is true by construction)."""
MODELS = ("oracle", "storybook", "blind", "chance", "constant")
PARTS = (
    "world", *BENCHMARKS, "runs", "report.html", "pairs", "study", "people", "view-marks.json"
)  # fmt: skip
"""The contents of a demo's folder."""

NEEDED = ("fastapi", "uvicorn", "sqlalchemy", "httpx")
PAIRS, PEOPLE, ERROR = 60, 6, 0.1
ANSWERS = 4
"""First picture, second, both, neither."""


@dataclass(frozen=True, slots=True)
class PeoplePart:
    """Counts of pairs, picked and verified captions, and how far the two verifiers agree."""

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
            f"people (simulated, {100 * ERROR:.0f}% errors each): {self.pairs} pairs of images, "
            f"{self.picked} with a picked caption, {self.verified} verified by two others "
            f"->  {self.benchmark}\nagreement of the verifiers: Krippendorff's alpha "
            f"{self.alpha:.2f} [{self.low:.2f}, {self.high:.2f}], expected at this error rate "
            f"{self.expected:.2f}"
        )


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The results: scores under both rules for ties, the people's part, and the report.

    `guesses` are the scores of those who only read. `people` is a sentence if the packages for
    studies are not installed.
    """

    scores: Scores
    halved: Scores
    guesses: tuple[ReferenceLine, ...]
    people: PeoplePart | str
    report: Path

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "scores": self.scores.to_json(),
            "scores_with_ties_halved": self.halved.to_json(),
            "guesses": [asdict(one) for one in self.guesses],
            "people": self.people if isinstance(self.people, str) else self.people.to_json(),
            "report": str(self.report),
        }

    def __str__(self) -> str:
        from tellapart.measures.scores import side_by_side

        return (
            f"{side_by_side(self.scores, self.halved, self.guesses)}\n\n{self.people}\n\n"
            f"report: {self.report}\n"
            f"see what the models got wrong: tellapart view {self.report.parent}"
        )


def demo(
    out: Annotated[Path | str, Help("Folder for all output.")] = Path("demo"),
    *,
    scenes: Annotated[int, Help("How many pictures to draw.")] = 300,
    seed: Seed = 0,
    progress: Progress = silent,
) -> Demonstration:
    """Draw a world, build four benchmarks, run the built-in models, write a report.

    In Python: the folder of an earlier demo is replaced; any other existing folder is an error.
    """
    from tellapart.audits.guesses import guessable
    from tellapart.reports.options import ReportOptions
    from tellapart.verbs.build import BuildOptions, build
    from tellapart.verbs.runs.evaluate import EvaluateOptions, evaluate
    from tellapart.verbs.runs.measure import measure
    from tellapart.verbs.runs.report import report
    from tellapart.verbs.world import world

    out = Path(out)
    _check_free(out)
    corpus = world(
        out / "world", scenes=scenes, seed=seed, part="test", overwrite=True, progress=progress
    )
    benchmarks = []
    for what, verifier in BENCHMARKS.items():
        options = BuildOptions(seed=seed, verifier=verifier, overwrite=True)
        benchmarks.append(build(what, corpus, out / what, options, progress))
    models = [name for name in MODELS if name in registry.models.names()]
    how = EvaluateOptions(seed=seed, overwrite=True)
    runs = evaluate(models, benchmarks, out / "runs", how, progress)
    scores, halved = measure(runs), measure(runs, ties="half")
    page = report(runs, out / "report.html", ReportOptions(title="tellapart demo"), progress)
    best = (one for built in benchmarks for one in guessable(built).rows)
    guesses = tuple(
        one.line(one.estimate.benchmark) for one in best if one.estimate.kind == "micro"
    )
    missing = ", ".join(name for name in NEEDED if find_spec(name) is None)
    left_out = f"people: skipped, {missing} not installed (pip install 'tellapart[study]')"
    people = left_out if missing else people_part(corpus, out, seed, progress)
    return Demonstration(scores, halved, guesses, people, page)


def _check_free(out: Path) -> None:
    """Raise unless the folder is new or holds an earlier demo."""
    if not out.exists():
        return
    strange = sorted(p.name for p in out.iterdir() if p.name not in PARTS)
    if not out.is_dir() or strange:
        raise BadInput(
            f"{out} contains files that are not part of a demo: {', '.join(strange[:3])}",
            allowed="a path that does not exist yet, or the folder of an earlier demo",
            todo="name another folder: tellapart demo OUT",
        )


def people_part(corpus: Corpus, out: Path, seed: int, progress: Progress) -> PeoplePart:
    """Build pairs, have simulated people pick and verify captions over HTTP, export.

    BISON's three steps (Hu et al. 2019, section 4.1) on a small scale: one person picks a caption
    for each pair, two others say which image it describes, and captions that both get right are
    kept.
    """
    from tellapart.errors import TellapartError
    from tellapart.study.effort import Crowd, expected_kappa
    from tellapart.study.export import write_results
    from tellapart.study.folder import StudySetup, write_study
    from tellapart.study.plan import find_recipe
    from tellapart.study.server.app import served
    from tellapart.study.server.crowd import simulate
    from tellapart.study.study import opened_study
    from tellapart.verbs.build.bison import BisonOptions, bison

    options = BisonOptions(
        for_study=True, vectors="tf-idf", parser="none", seed=seed, items=PAIRS, overwrite=True
    )
    bison(corpus, out / "pairs", options)
    setup = StudySetup(find_recipe("bison").stages, name="demo", seed=seed, overwrite=True)
    write_study(out / "pairs", out / "study", setup)
    crowd = Crowd(people=PEOPLE, at_once=1, seed=seed, error=ERROR)
    with opened_study(out / "study") as study:
        with served(study) as url:
            simulate(
                study, url, crowd, lambda _, done, total: progress("people answer", done, total)
            )
        results = write_results(study, out / "people", overwrite=True)
    picked, checked = results.funnel
    wanted = ("verify", "Krippendorff's alpha")
    alpha = next((row for row in results.agreement if (row.stage, row.measure) == wanted), None)
    if alpha is None:
        raise TellapartError("the simulated people verified nothing", todo="draw more scenes")
    return PeoplePart(
        picked.came, picked.kept, checked.kept, alpha.value, alpha.low, alpha.high,
        expected_kappa(ERROR, ANSWERS), out / "people" / "verified",
    )  # fmt: skip


VERB = Verb(demo, example="tellapart demo")
