"""What the tests share: a small world with its four benchmarks, built once."""

from __future__ import annotations

import gc
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import hypothesis
import pytest

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.items import Image, Item, Origin
from tellapart.score.run import Run, RunCard, answers_frame, save_run, scores_frame
from tests.plugins import forget_plugins, install_plugins

# Workers share the cores: threads of theirs that wait for each other take the time of others. Set
# where the workers are started from, so that they have it before they import anything.
for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# The same examples each time, however slow the machine: random failures would say nothing.
# HYPOTHESIS_PROFILE=explore draws others, many more (`make soak`).
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, max_examples=25)
hypothesis.settings.register_profile("explore", deadline=None, max_examples=1_000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))

# No test reads or fills the user's own cache, nor do the commands that tests start.
os.environ["TELLAPART_CACHE"] = tempfile.mkdtemp(prefix="tellapart-test-cache-")


def pytest_collection_finish() -> None:
    """What was imported stays: the collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How long each folder took: its tests with what they set up, in seconds of all workers."""
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for one in reports:
            if isinstance(one, pytest.TestReport):
                parts = one.nodeid.partition("::")[0].split("/")
                seconds["/".join(parts[: min(2, len(parts) - 1)])] += one.duration
    if sum(seconds.values()) > 10:
        table = (f"{spent:.0f} s {folder}" for folder, spent in seconds.most_common())
        terminalreporter.write_line(f"by folder: {', '.join(table)}")


WHERE_TRUE = {"bison": "oracle", "foil": "oracle", "mcic": "oracle", "bivlc": ""}


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> ta.Corpus:
    """Sixty scenes."""
    return ta.world(tmp_path_factory.mktemp("world") / "world", scenes=60, seed=3, part="test")


@pytest.fixture(scope="session")
def benchmarks(world: ta.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Benchmark]:
    """BISON, FOIL, MCIC and BiVLC on the sixty scenes."""
    out = tmp_path_factory.mktemp("benchmarks")
    return {
        what: ta.build(what, world, out / what, ta.BuildOptions(verifier=verifier, seed=1))
        for what, verifier in WHERE_TRUE.items()
    }


@pytest.fixture
def plugins(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The examples of docs/extending.md, installed."""
    install_plugins("extending.md", tmp_path_factory.mktemp("plugins"), monkeypatch)
    yield
    forget_plugins()


def grid_item(
    name: str, images: int, captions: int, true: set[tuple[int, int]], **more: object
) -> Item:
    """An item of the given shape whose images are its own."""
    return Item.imported(
        "test",
        name,
        images=tuple(more.pop("image_ids", [f"{name}-i{i}" for i in range(images)])),  # type: ignore[arg-type]
        captions=tuple(f"caption {j} of {name}" for j in range(captions)),
        true=frozenset(true),
        kind=more.pop("kind", "replace-object"),
        origin=Origin("test"),
        **more,
    )


def benchmark_of(items: list[Item], measures: tuple[str, ...] = ("accuracy",)) -> Benchmark:
    """A benchmark in memory; its pictures do not exist."""
    images = [Image(name, f"{name}.png") for item in items for name in item.images]
    unique = {image.id: image for image in images}.values()
    return make_benchmark(Card("hand-made", measures=measures), Path(), items, unique)


def run_of(benchmark: Benchmark, grids: dict[str, list[list[float]]]) -> Run:
    """A scorer's run with the given grids, by the item's source id."""
    rows = [
        (f"test:{name}", i, j, "", float(score))
        for name, grid in grids.items()
        for i, line in enumerate(grid)
        for j, score in enumerate(line)
    ]
    card = RunCard("by-hand", "scorer", benchmark.name, benchmark.sha256)
    return Run(card, benchmark, scores_frame(rows), answers_frame([]))


def as_contestants(runs: list[Run], **names: str) -> list[Run]:
    """Runs saved again under other names, so that a model that never looks competes like others."""
    made = []
    for run in runs:
        name = names.get(run.model.partition("?")[0].replace("-", "_"), run.model)
        called = replace(run, card=replace(run.card, model=name))
        folder = run.folder or Path()
        made.append(run if name == run.model else save_run(called, folder, overwrite=True))
    return made


def choices_of(benchmark: Benchmark, answers: list[tuple[str, str, int | None]]) -> Run:
    """A chooser's run: (source id, question, choice)."""
    rows = [
        (f"test:{name}", question, 0, [0, 1], choice, "answered", "")
        for name, question, choice in answers
    ]
    card = RunCard("by-hand", "chooser", benchmark.name, benchmark.sha256)
    return Run(card, benchmark, scores_frame([]), answers_frame(rows))
