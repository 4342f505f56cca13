"""The four papers on a small scale: runs, captions, retrieval, and simulated people's answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart import registry
from tellapart.analyses.exhibits.exhibit import PaperSources
from tellapart.errors import UnknownName, need
from tellapart.verbs.small_papers.small_paper import BUILT_IN, SECOND, SmallPaper, learnt_models

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus

METRICS = ("BLEU-4", "CIDEr-D", "ROUGE-L")
HIGHEST = 5
"""The rating of a true caption."""


def make_bison(small: SmallPaper) -> PaperSources:
    """Eleven systems: captions, recall, and the judgements of someone who knows the scenes."""
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
    """Retrieval results of a system; the last system's results are kept query by query."""
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
    """Judge by the scene whether results ranked above the right answer are right, too."""
    import polars as pl

    from tellapart.measures.retrieval_queries import read_queries

    table = read_queries(queries).filter(pl.col("rank") > 1)
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


def correctness(corpus: Corpus, image: str, caption: str) -> int:
    """5 for a caption that is true of the scene, 1 if nothing in it is true or it has no meaning.

    In between: the share of the things mentioned that are in the scene.
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


WRITER, WEIGHTS, USUAL = "vec2seq-ffnn", (0.0, 1.0, 4.0), 1.0
"""MCIC's system that generates and chooses, its generation weights here, and the default one."""


def make_foil(small: SmallPaper) -> PaperSources:
    """The paper's available systems, on foils of pairs and scenes they were not trained on."""
    from tellapart.verbs.build.foil import FoilOptions

    bench = small.built("foil", small.test)
    how = FoilOptions(seed=small.seed, verifier="oracle", part="train")
    learnt = small.built("foil", small.train, "foil-train", how)
    small.runs([*learnt_models(small, bench, learnt), *BUILT_IN], bench)
    people = small.judged(bench, "foil", judgements=3)
    return PaperSources(
        runs=(str(small.folder / "runs" / bench.name),),
        benchmark=(str(learnt.root), str(bench.root)),
        study=(str(people),),
    )


def make_mcic(small: SmallPaper) -> PaperSources:
    """The paper's available systems, on caption sets of scenes they were not trained on."""
    from tellapart.verbs.build.mcic import McicOptions

    bench = small.built("mcic", small.test)
    # The paper's way yields five times as many items as fair sets, and training needs them.
    how = McicOptions(seed=small.seed, verifier="oracle", way="paper")
    learnt = small.built("mcic", small.train, "mcic-train", how)
    models = [*learnt_models(small, bench, learnt), *BUILT_IN]
    papers = small.built("mcic", small.test, "mcic-paper", replace(how, name="mcic-paper"))
    for one in (bench, papers):
        small.runs(models, one)
    people = small.judged(bench, "best-of-five", judgements=3)
    return PaperSources(
        runs=tuple(str(small.folder / "runs" / name) for name in (bench.name, "mcic-paper")),
        benchmark=(str(bench.root),),
        settings=str(_by_weight(small, (bench, papers), learnt)) if WRITER in small.systems else "",
        study=(str(people),),
    )


def _by_weight(small: SmallPaper, tests: Sequence[Benchmark], learnt: Benchmark) -> Path:
    """Train the system that generates and chooses with several weights; returns their table.

    The default weight is that of the training behind the other tables, which is not repeated.
    """
    import polars as pl

    rows = []
    for weight in WEIGHTS:
        change = "" if weight == USUAL else f"lambda_gen={weight}"
        model = small.trained(WRITER, learnt, tests[0], change)
        for bench in tests:
            small.runs([model], bench)
        rows.append({"model": model, "lambda_gen": weight})
    return small.writes("settings.csv", lambda out: pl.DataFrame(rows).write_csv(out))


def make_bivlc(small: SmallPaper) -> PaperSources:
    """The model that ships with the package, and the blind ones."""
    bench = small.built("bivlc", small.test)
    small.runs(BUILT_IN, bench)
    people = small.judged(bench, "first-second-both", judgements=2)
    return PaperSources(
        runs=(str(small.folder / "runs" / bench.name),),
        before=str(small.folder / "asked"),
        benchmark=(str(people / "verified"),),
        study=(str(people),),
    )


MAKERS = {"bison": make_bison, "foil": make_foil, "mcic": make_mcic, "bivlc": make_bivlc}


def small_sources(small: SmallPaper) -> PaperSources:
    """All sources of a paper's exhibits, made on the built-in world."""
    if small.paper not in MAKERS:
        raise UnknownName("paper", small.paper, MAKERS)
    need("torch", "train", "training")
    small.folder.mkdir(parents=True, exist_ok=True)
    return MAKERS[small.paper](small)
