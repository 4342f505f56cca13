"""A fair part is found in what leaks, by the verbs, and its figure goes with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.attack.fair_items import FairItems, fair_part_of
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.models.names import load
from tellapart.score.cells import GRID_ASKS
from tellapart.score.engine import Settings, run_model
from tellapart.score.run import save_run
from tests.audits.test_attack_audit import planted


@pytest.fixture(scope="module", autouse=True)
def few_trees() -> Iterator[None]:
    """Attackers of few trees: what they find is planted, and each tree costs milliseconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tellapart.attack.trees.ROUNDS", 30)
        yield


@pytest.fixture(scope="module")
def leaking() -> Benchmark:
    """Three of four items end their true caption alone with a stop, the others the false one."""
    turns = iter(range(10_000))

    def stop(text: str, right: bool) -> str:
        odd = (next(turns) // 2) % 4 == 0
        return text.rstrip(".") + ("." if right != odd else "")

    return planted(stop, items=240)


@pytest.fixture(scope="module")
def fair(leaking: Benchmark) -> FairItems:
    return fair_part_of(leaking)


def test_refine_takes_a_leaking_benchmark_to_a_fair_part(
    leaking: Benchmark, fair: FairItems, tmp_path: Path
) -> None:
    folder = save_benchmark(leaking, tmp_path / "leaking").root
    done = CliRunner().invoke(app, ["refine", str(folder), str(tmp_path / "fair"), "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["held_out"]["before"]["low"] > 55
    assert told["held_out"]["after"]["low"] < 50 < told["held_out"]["after"]["high"]
    assert 0.2 < told["kept"] / told["items"] < 0.8
    part = ta.load_benchmark(tmp_path / "fair")
    assert len(part) == told["kept"]
    assert list(part.items.ids) == list(leaking.items.ids[fair.items]), "the same seed"
    assert part.card.made["refined_of"] == leaking.sha256
    assert ta.guessable(part).of("accuracy").estimate.value == pytest.approx(
        part.card.made["text_alone"]["value"] / 100
    )


def test_audit_writes_the_fair_part_and_measure_scores_it_beside_the_whole(
    leaking: Benchmark, fair: FairItems, tmp_path: Path
) -> None:
    folder = save_benchmark(leaking, tmp_path / "leaking").root
    file = tmp_path / "fair.txt"
    options = ta.AuditOptions(ngrams=False, look=False, resamples=50)
    found = ta.audit(folder, fair_part=file, options=options)
    ids = file.read_text("utf-8").split()
    assert found.fair_part is not None and len(ids) == found.fair_part.kept.sum()
    assert ids == list(leaking.items.ids[fair.items]), "the same seed"
    assert "fair part: " in str(found) and "held out, after" in str(found)
    save_run(
        run_model(load("blind"), ta.load_benchmark(folder), Settings(GRID_ASKS)), tmp_path / "run"
    )
    scores = ta.measure(tmp_path / "run", fair_part=file)
    rows = {row.kind: row for row in scores.rows}
    assert rows["fair part"].n == len(ids)
    assert rows["fair part"].n + rows["the rest"].n == rows["micro"].n == len(leaking)
    with pytest.raises(BadInput, match="cannot be combined with another breakdown"):
        ta.measure(tmp_path / "run", fair_part=file, by="kind")
    file.write_text("nobody\n", "utf-8")
    with pytest.raises(BadInput, match="no run has the item 'nobody'"):
        ta.measure(tmp_path / "run", fair_part=file)


def test_groups_are_whole(fair: FairItems) -> None:
    group = fair.choices.group
    assert not set(group[fair.held_out]) & set(group[~fair.held_out])


def test_what_cannot_be_refined_is_refused(leaking: Benchmark, tmp_path: Path) -> None:
    few = planted(lambda text, _: text, items=40)
    with pytest.raises(BadInput, match="no fair part"):
        ta.refine(few, tmp_path / "out")
    with pytest.raises(UnknownName, match="way to refine"):
        ta.refine(leaking, tmp_path / "out", ta.RefineOptions(way="quickly"))
    with pytest.raises(BadInput, match="no source for the scores of grammar"):
        ta.refine(leaking, tmp_path / "out", ta.RefineOptions(plausibility="blind"))
    assert not (tmp_path / "out").exists()
