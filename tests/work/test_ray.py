"""Workers on a Ray cluster: two nodes on this machine, of which one is killed in the middle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.work.test_shards import FAST, files_in

import tellapart as ta

pytest.importorskip("ray", reason="Ray is not installed")
pytestmark = [
    pytest.mark.campaign,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
ROOT = Path(__file__).parents[2]


@dataclass
class TwoNodes:
    """A node without cores that we speak to, and two with a core each; one can be killed."""

    cluster: Any
    nodes: list[Any] = field(default_factory=list)
    killed: bool = False

    @property
    def workers(self) -> str:
        return f"ray:{self.cluster.address}"

    def fill(self) -> None:
        self.killed = False
        while len(self.nodes) < 2:
            self.nodes.append(self.cluster.add_node(num_cpus=1))

    def killing(self, begun: Callable[[], bool]) -> threading.Thread:
        """A thread that kills a node, without a word to it, once the work has begun."""

        def kill() -> None:
            until = time.monotonic() + 400
            while not begun() and time.monotonic() < until:
                time.sleep(0.02)
            self.cluster.remove_node(self.nodes.pop(0), allow_graceful=False)
            self.killed = begun()  # unfinished work goes when it is done: this was in the middle

        thread = threading.Thread(target=kill)
        thread.start()
        return thread


@pytest.fixture(scope="module")
def started() -> Iterator[TwoNodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("PYTHONPATH", str(ROOT))
        from ray.cluster_utils import Cluster

        made = TwoNodes(Cluster(initialize_head=True, head_node_args={"num_cpus": 0}))
        yield made
        made.cluster.shutdown()


@pytest.fixture
def nodes(started: TwoNodes) -> TwoNodes:
    started.fill()
    return started


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small world with its BISON."""
    place = tmp_path_factory.mktemp("small")
    corpus = ta.world(place / "world", scenes=40, seed=5)
    ta.build("bison", corpus, place / "bison", ta.BisonOptions(verifier="oracle"))
    return place


def some(place: Path, pattern: str) -> Callable[[], bool]:
    """Whether a shard is done."""
    return lambda: any(place.glob(pattern))


def test_a_node_dies_in_the_middle_of_evaluate_and_the_run_is_the_same(nodes, small, tmp_path):
    bison, options = small / "bison", replace(FAST, batch_size=1)
    ta.evaluate("storybook", on=bison, out=tmp_path / "alone", options=options)
    out = tmp_path / "runs"
    thread = nodes.killing(some(out, ".unfinished/*/*/rows-*/*/*.segment"))
    ta.evaluate("storybook", on=bison, out=out, options=replace(options, workers=nodes.workers))
    thread.join()
    assert nodes.killed and files_in(out) == files_in(tmp_path / "alone")


def test_a_node_dies_in_the_middle_of_features_and_they_are_the_same(
    nodes, small, tmp_path, monkeypatch
):
    monkeypatch.setattr("tellapart.image_features.extract.BLOCK", 4)
    options = ta.FeatureOptions(backbone="pixels")
    ta.features(small / "world", tmp_path / "alone", options)
    thread = nodes.killing(some(tmp_path, ".out.*/shards/*.npz"))
    ta.features(small / "world", tmp_path / "out", replace(options, workers=nodes.workers))
    thread.join()
    assert nodes.killed and files_in(tmp_path / "out") == files_in(tmp_path / "alone")


def test_a_node_dies_in_the_middle_of_neighbours_and_they_are_the_same(
    nodes, small, tmp_path, monkeypatch
):
    monkeypatch.setattr("tellapart.mine.caption_rows.SHARD", 16)
    options = ta.NeighbourOptions(k=3)
    ta.neighbours(small / "world", tmp_path / "alone", options)
    thread = nodes.killing(some(tmp_path, ".out.*/work/near/*.npz"))
    ta.neighbours(small / "world", tmp_path / "out", replace(options, workers=nodes.workers))
    thread.join()
    assert nodes.killed and files_in(tmp_path / "out") == files_in(tmp_path / "alone")


@pytest.mark.parametrize("what", ["bison", "mcic"])
def test_a_node_dies_in_the_middle_of_mining_and_the_benchmark_is_the_same(
    nodes, small, tmp_path, monkeypatch, what
):
    monkeypatch.setattr("tellapart.mine.image_pairs.PART", 4)
    monkeypatch.setattr("tellapart.mine.mcic.decoys.BLOCK", 16)
    options: Any = ta.BisonOptions(verifier="oracle") if what == "bison" else ta.McicOptions()
    ta.build(what, small / "world", tmp_path / "alone", options)
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "another cache"))
    thread = nodes.killing(some(tmp_path, ".out.*/*/*.npz"))
    many = replace(options, workers=nodes.workers)
    ta.build(what, small / "world", tmp_path / "out", many)
    thread.join()
    assert nodes.killed and files_in(tmp_path / "out") == files_in(tmp_path / "alone")
