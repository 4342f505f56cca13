"""Small benchmarks and runs for the report, and results made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.conftest import as_contestants

import tellapart as ta
from tellapart.benchmark.benchmark import Card, make_benchmark
from tellapart.items import Image, Item, Origin
from tellapart.measures.choice import ACCURACY
from tellapart.measures.scores import Estimate
from tellapart.reports.results import BenchmarkResults, Entry
from tellapart.score.run import Run, RunCard, answers_frame, scores_frame

MODELS = ["oracle?error=0.2", "chance", "chance-chooser"]


@dataclass(frozen=True)
class Made:
    """Where everything is, and the runs by benchmark."""

    root: Path
    runs: list[Run] = field(default_factory=list)

    @property
    def items(self) -> int:
        """How many items there are in all."""
        return sum(len(run.benchmark.items) for run in self.runs) // len(MODELS)

    def on(self, benchmark: str) -> list[Run]:
        return [run for run in self.runs if run.benchmark.name == benchmark]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Four benchmarks on 24 scenes, three models on each; no run of `blind`."""
    root = tmp_path_factory.mktemp("report")
    corpus = ta.world(root / "world", scenes=24, seed=0)
    benchmarks = [
        ta.build(what, corpus, root / "b" / what, ta.BuildOptions(verifier="oracle"))
        for what in ("bison", "mcic", "foil", "bivlc")
    ]
    runs = ta.evaluate(MODELS, benchmarks, root / "runs")
    return Made(root, as_contestants(runs, chance="random", chance_chooser="guesser"))


def estimate(value: float, low: float, high: float, **more: object) -> Estimate:
    facts = {
        "benchmark": "b", "model": "m", "measure": "accuracy", "kind": "micro", "chance": 0.5,
        "n": 100, "clusters": 100, "ties": 0, "failed": 0, "tie_rule": "wrong", "method": "by hand",
    }  # fmt: skip
    return Estimate(value=value, low=low, high=high, **{**facts, **more})  # type: ignore[arg-type]


@pytest.fixture
def results_of() -> Callable[..., BenchmarkResults]:
    """Results from models' estimates, with what the text-only model gets."""

    def make(
        models: dict[str, Estimate],
        blind: Estimate | None = None,
        *,
        name: str = "b",
        covered: dict[str, int] | None = None,
    ) -> BenchmarkResults:
        items = [
            Item.built("x", images=(f"a{k}", f"b{k}"), captions=("A dog.",),
                       true=frozenset({(0, 0)}), kind="bison", origin=Origin("hand"))
            for k in range(4)
        ]  # fmt: skip
        images = [Image(image, f"{image}.png") for item in items for image in item.images]
        benchmark = make_benchmark(Card(name), Path("nowhere"), items, images)

        def entry(label: str, one: Estimate) -> Entry:
            rows = [
                (i.id, k, 0, "", 0.0)
                for i in items[: (covered or {}).get(label, 4)]
                for k in (0, 1)
            ]
            card = RunCard(label, "scorer", name, benchmark.sha256)
            run = Run(card, benchmark, scores_frame(rows), answers_frame([]))
            return Entry(label, run, {("accuracy", "micro"): one})

        text_only = entry("blind", blind or estimate(0.5, 0.45, 0.55, tie_rule="half"))
        entries = tuple(entry(label, one) for label, one in models.items())
        return BenchmarkResults(name, benchmark, (ACCURACY,), entries, text_only, computed=True)

    return make


@pytest.fixture
def an_estimate() -> Callable[..., Estimate]:
    return estimate
