"""One figure for what the text alone gives away, the same wherever it is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from soak.fairness import fair_world
from typer.testing import CliRunner

import tellapart as ta
from tellapart.attack import text_alone as module
from tellapart.attack.attack import Attackers, attack_benchmark
from tellapart.attack.text_alone import TextAlone, text_alone
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.models.names import load
from tellapart.score.cells import GRID_ASKS
from tellapart.score.engine import Settings, run_model
from tellapart.score.run import save_run
from tests.audits.test_attack_audit import planted
from tests.measures.test_foil import foil_run


@pytest.fixture(scope="module")
def leaking() -> Benchmark:
    """Two of three true captions end with a stop: 83% can be guessed."""
    kept = iter(range(10_000))
    return planted(
        lambda text, right: text.rstrip(".") + ("." if right and next(kept) % 3 else ""), items=150
    )


def told(output: str, start: str) -> str:
    return next(line for line in output.splitlines() if line.strip().startswith(start))


def test_audit_guessable_measure_report_show_and_readme_tell_one_figure(leaking, tmp_path):
    folder = save_benchmark(leaking, tmp_path / "bench").root
    run = run_model(load("chance"), ta.load_benchmark(folder), Settings(GRID_ASKS))
    save_run(run, tmp_path / "run")
    found = ta.audit(leaking, options=ta.AuditOptions(ngrams=False, look=False))
    assert found.attack is not None and 0.7 < found.attack.overall.value < 0.95
    number = f"{100 * found.attack.overall.value:.1f}"
    best = ta.guessable(leaking).of("accuracy")
    assert (best.estimate.value, best.estimate.low) == (
        found.attack.overall.value,
        found.attack.overall.low,
    )
    measured = CliRunner().invoke(app, ["measure", str(tmp_path / "run")]).output
    assert f"{number} by {found.attack.attacker}" in measured
    assert f"{100 * found.attack.overall.value:.2f}" in told(measured, "- text alone")
    assert "true captions of the benchmark's other images" in measured
    page = ta.report(run, tmp_path / "p.html", ta.ReportOptions(gallery=0)).read_text("utf-8")
    assert "text alone" in page and number in page
    line = f"ext alone: {number}% ["
    ta.export(folder, tmp_path / "hub", look=False)
    assert f"T{line}" in (tmp_path / "hub" / "README.md").read_text("utf-8")
    carried = replace(leaking.card, made={"text_alone": found.attack.to_card()})
    save_benchmark(replace(leaking, card=carried), tmp_path / "told")
    shown = CliRunner().invoke(app, ["show", str(tmp_path / "told"), "--items", "1"]).output
    assert f"t{line}" in shown and "learned from" in shown


def test_the_card_goes_before_what_is_computed_and_only_for_its_own_items(leaking):
    attack = attack_benchmark(leaking, attackers=Attackers(trees=False, resamples=50))
    assert attack is not None
    card = {**attack.to_card(), "value": 77.0, "source": "elsewhere"}
    carrying = replace(leaking, card=replace(leaking.card, made={"text_alone": card}))
    known = text_alone(carrying)
    assert known is not None and (known.overall.value, known.source) == (0.77, "elsewhere")
    part = replace(carrying, items=carrying.items[:100])
    other = text_alone(part)
    assert other is not None and other.source != "elsewhere"
    assert TextAlone.of_card({"text_alone": "unknown"}) is None


def test_a_figure_is_kept_and_read_again(leaking, monkeypatch, tmp_path):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path))
    monkeypatch.setattr(module, "QUICK", -1.0)
    assert text_alone(leaking, compute=False) is None
    first = text_alone(leaking)
    assert first is not None and text_alone(leaking, compute=False) == first
    arrays = first.arrays()
    assert TextAlone.of_arrays({**arrays, "n": np.array([7] * len(arrays["n"]))}).overall.n == 7


def test_validate_fails_where_the_text_alone_is_too_far_above_chance(leaking, tmp_path):
    folder = save_benchmark(leaking, tmp_path / "bench").root
    command = ["validate", str(folder), "--no-look", "--fair"]
    failed = CliRunner().invoke(app, [*command, "5"])
    assert failed.exit_code == 1
    assert "can be guessed from the text alone: text alone: " in failed.output
    assert CliRunner().invoke(app, [*command, "60"]).exit_code == 0
    fair = save_benchmark(fair_world(0, 120), tmp_path / "fair").root
    passed = CliRunner().invoke(app, ["validate", str(fair), "--no-look", "--fair", "5"])
    assert passed.exit_code == 0 and "remark: text alone: " in passed.output


def test_t1_of_pairs_is_held_against_the_same_figure():
    """Who guesses which of two captions is true judges both rightly or both wrongly."""
    known = {"value": 82.0, "low": 80.0, "high": 84.0, "chance": 50.0, "attacker": "trees"}
    run = foil_run({"a": (5.0, 2.0), "b": (4.0, 3.0), "c": (9.0, 1.0)}, {})
    told = replace(run.benchmark.card, made={"text_alone": known})
    run = replace(run, benchmark=replace(run.benchmark, card=told))
    overview = ta.measure(run).overview
    assert overview is not None and overview.columns[0].measure == "T1"
    assert overview.line("text alone", overview.columns[0]).value == pytest.approx(0.82)
    guesses = ta.guessable(run.benchmark)
    assert [guesses.of(name).estimate.value for name in ("T1", "accuracy")] == [0.82, 0.82]
    assert guesses.of("T1-AUC").cue != "trees", "an area is not what it is a figure of"
