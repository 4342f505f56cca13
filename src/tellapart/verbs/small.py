"""Papers in small: a paper's systems trained and tested on the built-in world.

Nothing is fetched and nobody is asked, so that every table and figure can be made anywhere: scenes
are drawn, features are their colours, systems have a width of 64, and in the place of people stands
someone who knows the scenes. The figures show that everything runs and what it looks like; they say
nothing about photographs. What is there already is not made again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart import registry
from tellapart.analyses.exhibits.exhibit import PaperSources
from tellapart.errors import UnknownName, need
from tellapart.papers.figures import tables_named
from tellapart.types import Progress, silent

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.score.run import Run

WIDTH = 64
SECOND = "-scst"
"""What the name of a captioner ends in after self-critical training."""
BUILT_IN = ("storybook", "blind", "chance")
LEARNT = {
    "retrieval": ("least=1", "epochs=20", "batch=64", "rate=0.003"),
    "captioning": ("least=1", "epochs=10", "rate=0.01"),
    "self-critical": ("epochs=6", "rate=0.001"),
}
"""Settings for some hundred scenes, by task; other tasks keep those of the recipe `small`."""
METRICS = ("BLEU-4", "CIDEr-D", "ROUGE-L")


@dataclass(frozen=True)
class SmallPaper:
    """Where a paper is made in small, and at what size."""

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
        """Scenes to train on, none of them drawn as one of the test is, with ids of their own.

        Both parts count their scenes from 0, and images of one id that look alike are refused.
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
        """Scenes of other things to test on."""
        return self._drawn("test", self.tests)

    def _drawn(self, part: str, scenes: int) -> Corpus:
        from tellapart.corpus.reader import read_corpus
        from tellapart.verbs.world import world

        out = self.folder / part
        if not out.exists():
            world(out, scenes=scenes, seed=self.seed, part=part, progress=self.progress)
        return read_corpus(out)

    def built(self, what: str, corpus: Corpus, name: str = "", options: Any = None) -> Benchmark:
        """A benchmark of one of the two parts, under its own name or another."""
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
        """Colours of cells of all training scenes."""
        from tellapart.verbs.systems.features import FeatureOptions, features

        out = self.folder / "features"
        if not out.exists():
            features(self.train, out, FeatureOptions(backbone="pixels"), self.progress)
        return out

    def trained(self, system: str, on: Any, never: Benchmark) -> str:
        """A system's model string; `NAME-scst` is trained further from NAME."""
        from tellapart.verbs.systems.train import TrainOptions, train

        out = self.folder / "systems" / system
        if not out.exists():
            second = system.endswith(SECOND)
            name = system.removesuffix(SECOND)
            start = self.folder / "systems" / name if second else None
            recipe = "scst-small" if second else "small"
            how = TrainOptions(
                recipe=recipe, changes=settings_of(name, recipe), features=(self.features,),
                seed=self.seed, start=start,
            )  # fmt: skip
            train(name, on, out, never=[never], options=how, progress=self.progress)
        return f"trained:{out}"

    def runs(self, models: Sequence[str], on: Benchmark) -> list[Run]:
        """Every model on a benchmark."""
        from tellapart.score.run import load_run
        from tellapart.verbs.runs.evaluate import EvaluateOptions, evaluate

        found = []
        for model in models:
            out = self.folder / "runs" / on.name / Path(model.partition("@")[0]).name
            if not out.exists():
                how = EvaluateOptions(seed=self.seed)
                evaluate([model], on, out, how, self.progress)
            found.append(load_run(next(out.glob("**/run.json")).parent, on))
        return found

    def writes(self, name: str, make: Callable[[Path], object]) -> Path:
        """A file that is made once."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            make(file)
        return file


def settings_of(system: str, recipe: str) -> tuple[str, ...]:
    """What `--small` sets: every width of the system at most 64, and a training for few scenes."""
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


def make_bison(small: SmallPaper) -> PaperSources:
    """Eleven systems; captions, recall, and the answers of one who knows the scenes."""
    bench = small.built("bison", small.test)
    models = {name: small.trained(name, small.train, bench) for name in small.systems}
    captioners = [name for name in models if name.removesuffix(SECOND) in _captioners()]
    chosen = [f"reference:{metric}@{small.folder / 'test'}" for metric in METRICS]
    small.runs([*models.values(), *chosen, *BUILT_IN], bench)
    written = {name: _written(small, name, models[name]) for name in captioners}
    recalls = [_recalled(small, name, models[name]) for name in models if name not in captioners]
    queries = small.folder / "retrieval" / "queries.csv"
    return PaperSources(
        runs=(str(small.folder / "runs" / bench.name),),
        benchmark=(str(bench.root),),
        captions=tuple(map(str, reversed(written.values()))),
        references=str(small.folder / "test"),
        retrieval=tuple(map(str, recalls)),
        queries=str(queries) if recalls else "",
        judgements=str(small.writes("judgements.csv", lambda out: _judge(small, queries, out)))
        if recalls
        else "",
        ratings=(str(small.writes("ratings.csv", lambda out: _rate(small, written, out))),)
        if written
        else (),
        scores=str(small.writes("recall.csv", lambda out: _recall_table(recalls, out)))
        if recalls
        else "",
    )


def _captioners() -> frozenset[str]:
    from tellapart.models.zoo.system import system_class

    names = registry.systems.names()
    return frozenset(one for one in names if system_class(one).task == "captioning")


def _written(small: SmallPaper, name: str, model: str) -> Path:
    from tellapart.verbs.systems.caption import WriteCaptionsOptions, caption

    def write(out: Path) -> None:
        caption(model, small.test, out, WriteCaptionsOptions(method="greedy"), small.progress)

    return small.writes(f"captions/{name}.json", write)


def _recalled(small: SmallPaper, name: str, model: str) -> Path:
    """What a retrieval system finds; the last one's queries are kept one by one."""
    from tellapart.measures.options import RetrievalOptions
    from tellapart.verbs.systems.retrieve import retrieve

    def write(out: Path) -> None:
        how = RetrievalOptions(per_query=out.parent / "queries.csv", seed=small.seed)
        found = retrieve(model, small.test, how, small.progress)
        out.write_text(json.dumps(found.to_json()), encoding="utf-8")

    return small.writes(f"retrieval/{name}.json", write)


def _recall_table(files: Sequence[Path], out: Path) -> None:
    """Recall of every retrieval system, for `analyse rankings`."""
    import polars as pl

    rows = []
    for file in files:
        stored = json.loads(file.read_text(encoding="utf-8"))
        recall = {f"{row['direction']} R@1": 100 * row["recall"]["1"] for row in stored["rows"]}
        rows.append({"system": stored["model"], **recall})
    pl.DataFrame(rows).write_csv(out)


def _judge(small: SmallPaper, queries: Path, out: Path) -> None:
    """Whether what was found in the place of the right answer is right, too: by the scene."""
    import polars as pl

    table = pl.read_csv(queries).filter(pl.col("rank") > 1)
    rows = [
        (f"query:{query}", "yes" if correctness(small.test, image, caption) == HIGHEST else "no")
        for query, image, caption in table.select(
            "query", "found_image", "found_caption"
        ).iter_rows()
    ]
    pl.DataFrame(rows, schema=["item", "choice"], orient="row").write_csv(out)


def _rate(small: SmallPaper, written: dict[str, Path], out: Path) -> None:
    """How correct the captions of all captioners are, from 1 to 5, by the scene."""
    import polars as pl

    rows = [
        (row["image_id"], row["caption"], correctness(small.test, row["image_id"], row["caption"]))
        for file in written.values()
        for row in json.loads(file.read_text(encoding="utf-8"))
    ]
    table = pl.DataFrame(rows, schema=["image", "caption", "rating"], orient="row")
    table.unique(["image", "caption"], maintain_order=True).write_csv(out)


HIGHEST = 5


def correctness(corpus: Corpus, image: str, caption: str) -> int:
    """5 for a caption that is true of the scene, 1 for one in which nothing is, or no sentence.

    Between them: the share of the things mentioned that the scene has.
    """
    from tellapart.corpus.world.grammar import understand
    from tellapart.corpus.world.scene import is_true
    from tellapart.corpus.world.world import scene_of

    statement, scene = understand(caption), scene_of(corpus.picture(str(image)))
    if statement is None or scene is None or not statement.mentions:
        return 1
    if is_true(statement, scene):
        return HIGHEST
    there = [any(one.fits(thing) for thing in scene.things) for one in statement.mentions]
    return 1 + round((HIGHEST - 2) * sum(there) / len(there))


def make_foil(small: SmallPaper) -> PaperSources:
    """The paper's systems that there are, on foils of other pairs and scenes than they learnt."""
    from tellapart.verbs.build.foil import FoilOptions

    bench = small.built("foil", small.test)
    how = FoilOptions(seed=small.seed, verifier="oracle", part="train")
    learnt = small.built("foil", small.train, "foil-train", how)
    small.runs([*_learnt(small, bench, learnt), *BUILT_IN], bench)
    return PaperSources(
        runs=(str(small.folder / "runs" / bench.name),), benchmark=(str(bench.root),)
    )


def make_mcic(small: SmallPaper) -> PaperSources:
    """The paper's systems that there are, on sets of captions of other scenes."""
    bench = small.built("mcic", small.test)
    learnt = small.built("mcic", small.train, "mcic-train")
    small.runs([*_learnt(small, bench, learnt), *BUILT_IN], bench)
    return PaperSources(
        runs=(str(small.folder / "runs" / bench.name),), benchmark=(str(bench.root),)
    )


def make_bivlc(small: SmallPaper) -> PaperSources:
    """The model that ships with the package, and those that never look."""
    bench = small.built("bivlc", small.test)
    small.runs(BUILT_IN, bench)
    return PaperSources(
        runs=(str(small.folder / "runs" / bench.name),), benchmark=(str(bench.root),)
    )


def _learnt(small: SmallPaper, bench: Benchmark, learnt: Benchmark) -> Iterator[str]:
    """The model strings of a paper's systems; those that learn from items get items."""
    from tellapart.models.zoo.system import system_class

    for name in small.systems:
        task = registry.tasks.get(system_class(name).task)
        on = learnt if getattr(task, "items", False) else small.train
        yield small.trained(name, on, bench)


MAKERS = {"bison": make_bison, "foil": make_foil, "mcic": make_mcic, "bivlc": make_bivlc}


def small_sources(small: SmallPaper) -> PaperSources:
    """Everything that a paper's exhibits are made of, made on the built-in world."""
    if small.paper not in MAKERS:
        raise UnknownName("paper", small.paper, MAKERS)
    need("torch", "train", "training")
    small.folder.mkdir(parents=True, exist_ok=True)
    return MAKERS[small.paper](small)
