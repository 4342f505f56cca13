"""A small-scale paper: its scenes, benchmarks, trained systems and runs, each made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart import registry
from tellapart.papers.figures import tables_named
from tellapart.types import Progress, silent

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.score.run import Run

WIDTH = 64
SECOND = "-scst"
"""Suffix of a captioner's name after self-critical training."""
JUDGED, ERROR = 60, 0.1
"""How many items simulated people judge, and how often each of them errs."""
BUILT_IN = ("storybook", "blind", "chance")
LEARNT = {
    "retrieval": ("least=1", "epochs=8", "batch=64", "rate=0.003"),
    "captioning": ("least=1", "epochs=10", "rate=0.01"),
    "self-critical": ("epochs=6", "rate=0.001"),
}
"""Settings for some hundred scenes, by task; other tasks keep those of the recipe `small`."""


@dataclass(frozen=True)
class SmallPaper:
    """Where a small-scale paper is made, and at what size."""

    paper: str
    folder: Path
    scenes: int = 400
    tests: int = 240
    seed: int = 0
    progress: Progress = silent

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The paper's systems that can be trained here, in the order of its tables."""
        known = registry.systems.names()
        rows = [row.system for table in tables_named(self.paper) for row in table.rows]
        return tuple(dict.fromkeys(one for one in rows if one.removesuffix(SECOND) in known))

    @cached_property
    def train(self) -> Corpus:
        """Training scenes: none has the same picture as a test scene, and ids are distinct.

        Both parts number their scenes from 0, and training refuses images that share an id and look
        alike.
        """
        import polars as pl

        every = self._drawn("train", self.scenes)
        tested = self.test.images["sha256"].to_list()
        images = every.images.filter(~pl.col("sha256").is_in(tested))
        captions = every.captions.filter(pl.col("image").is_in(images["id"].to_list()))
        named = pl.lit("train-")
        return replace(
            every,
            images=images.with_columns(id=named + pl.col("id")),
            captions=captions.with_columns(id=named + pl.col("id"), image=named + pl.col("image")),
        )

    @cached_property
    def test(self) -> Corpus:
        """Test scenes, with other content."""
        return self._drawn("test", self.tests)

    def _drawn(self, part: str, scenes: int) -> Corpus:
        from tellapart.corpus.reader import read_corpus
        from tellapart.verbs.world import world

        out = self.folder / part
        if not out.exists():
            world(out, scenes=scenes, seed=self.seed, part=part, progress=self.progress)
        return read_corpus(out)

    def built(self, what: str, corpus: Corpus, name: str = "", options: Any = None) -> Benchmark:
        """A benchmark built from one of the two parts, under its own name or another."""
        from tellapart.benchmark.benchmark import load_benchmark
        from tellapart.verbs.build import BuildOptions, build

        out = self.folder / (name or what)
        if not out.exists():
            verifier = "" if what == "bivlc" else "oracle"
            how = options or BuildOptions(seed=self.seed, verifier=verifier)
            build(what, corpus, out, how, self.progress)
        return load_benchmark(out)

    @cached_property
    def features(self) -> Path:
        """Grid-cell colours of all training scenes."""
        from tellapart.verbs.systems.features import FeatureOptions, features

        out = self.folder / "features"
        if not out.exists():
            features(self.train, out, FeatureOptions(backbone="pixels"), self.progress)
        return out

    def trained(self, system: str, on: Any, never: Benchmark, change: str = "") -> str:
        """A system's model string; `NAME-scst` is trained further from NAME.

        A `change` of its settings (`lambda_gen=0`) gives it a folder of its own.
        """
        from tellapart.verbs.systems.train import TrainOptions, train

        out = self.folder / "systems" / f"{system}{f'-{change}' if change else ''}"
        if not out.exists():
            second = system.endswith(SECOND)
            name = system.removesuffix(SECOND)
            start = self.folder / "systems" / name if second else None
            recipe = "scst-small" if second else "small"
            how = TrainOptions(
                recipe=recipe, changes=(*settings_of(name, recipe), *((change,) if change else ())),
                features=(self.features,), seed=self.seed, start=start,
            )  # fmt: skip
            train(name, on, out, never=[never], options=how, progress=self.progress)
        return f"trained:{out}"

    def runs(self, models: Sequence[str], on: Benchmark) -> list[Run]:
        """Every model on a benchmark."""
        from tellapart.score.run import load_run
        from tellapart.verbs.runs.evaluate import EvaluateOptions, evaluate

        found = []
        for model in models:
            out = (
                self.folder
                / "runs"
                / on.name
                / Path(model.partition("@")[0]).name.replace("=", "-")
            )
            if not out.exists():
                how = EvaluateOptions(seed=self.seed)
                evaluate([model], on, out, how, self.progress)
            found.append(load_run(next(out.glob("**/run.json")).parent, on))
        return found

    def judged(self, bench: Benchmark, ask: str, judgements: int) -> Path:
        """The export of a study in which simulated people judged some items over HTTP."""
        from tellapart.study.effort import Crowd
        from tellapart.verbs.benchmarks.subset import SubsetOptions, subset
        from tellapart.verbs.study.create import CreateStudyOptions, create_study
        from tellapart.verbs.study.export import export_study
        from tellapart.verbs.study.simulate import simulate_study

        results = self.folder / "people"
        if not results.exists():
            asked, study = self.folder / "asked", self.folder / "study"
            limit = min(JUDGED, len(bench.items))
            subset(bench, asked, SubsetOptions(limit=limit, seed=self.seed), overwrite=True)
            how = CreateStudyOptions(
                ask=ask, judgements=str(judgements), keep="all", training=False, seed=self.seed,
                overwrite=True,
            )  # fmt: skip
            create_study(asked, study, how)
            crowd = Crowd(people=2 * judgements, at_once=1, error=ERROR, seed=self.seed)
            simulate_study(study, crowd, progress=self.progress)
            export_study(study, results)
        return results

    def writes(self, name: str, make: Callable[[Path], object]) -> Path:
        """A file, made if it does not exist yet."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            make(file)
        return file


def settings_of(system: str, recipe: str) -> tuple[str, ...]:
    """The settings of `--small`: widths of at most 64, and training suited to few scenes."""
    from tellapart.models.zoo.system import system_class
    from tellapart.training.settings import Recipe, TrainingSettings, recipe_of, task_of

    kind = system_class(system)
    task = task_of(system, recipe) or kind.task
    defaults = Recipe(kind.Config(), registry.tasks.get(task).Settings(), TrainingSettings())
    chosen = recipe_of(system, recipe, defaults)
    values = {one.name: getattr(chosen.system, one.name) for one in fields(chosen.system)}
    wide = [name for name, value in values.items() if type(value) is int and value > WIDTH]
    narrow = () if task == "self-critical" else tuple(f"{name}={WIDTH}" for name in wide)
    return (*narrow, *LEARNT.get(task, ("least=1",)))


def learnt_models(small: SmallPaper, bench: Benchmark, learnt: Benchmark) -> Iterator[str]:
    """The model strings of a paper's systems, trained on items or captions as each needs."""
    from tellapart.models.zoo.system import system_class

    for name in small.systems:
        task = registry.tasks.get(system_class(name).task)
        on = learnt if getattr(task, "items", False) else small.train
        yield small.trained(name, on, bench)
