"""FOIL, MCIC and BiVLC in small: what their systems choose, beside models that never look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.analyses.exhibits.exhibit import PaperSources
from tellapart.errors import UnknownName, need
from tellapart.verbs.small_papers.bison import make_bison
from tellapart.verbs.small_papers.small_paper import BUILT_IN, SmallPaper, learnt_models

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


WRITER, WEIGHTS = "vec2seq-ffnn", (0.0, 1.0, 4.0)
"""MCIC's system that writes and chooses, and the weights of writing that it is trained with."""


def make_foil(small: SmallPaper) -> PaperSources:
    """The paper's systems that there are, on foils of other pairs and scenes than they learnt."""
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
    """The paper's systems that there are, on sets of captions of other scenes."""
    bench = small.built("mcic", small.test)
    learnt = small.built("mcic", small.train, "mcic-train")
    small.runs([*learnt_models(small, bench, learnt), *BUILT_IN], bench)
    people = small.judged(bench, "best-of-five", judgements=3)
    return PaperSources(
        runs=(str(small.folder / "runs" / bench.name),),
        benchmark=(str(bench.root),),
        settings=str(_by_weight(small, bench, learnt)) if WRITER in small.systems else "",
        study=(str(people),),
    )


def _by_weight(small: SmallPaper, bench: Benchmark, learnt: Benchmark) -> Path:
    """The system that writes and chooses, with several weights of writing; a table of them."""
    import polars as pl

    rows = []
    for weight in WEIGHTS:
        model = small.trained(WRITER, learnt, bench, f"lambda_gen={weight}")
        small.runs([model], bench)
        rows.append({"model": model, "lambda_gen": weight})
    return small.writes("settings.csv", lambda out: pl.DataFrame(rows).write_csv(out))


def make_bivlc(small: SmallPaper) -> PaperSources:
    """The model that ships with the package, and those that never look."""
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
    """Everything that a paper's exhibits are made of, made on the built-in world."""
    if small.paper not in MAKERS:
        raise UnknownName("paper", small.paper, MAKERS)
    need("torch", "train", "training")
    small.folder.mkdir(parents=True, exist_ok=True)
    return MAKERS[small.paper](small)
