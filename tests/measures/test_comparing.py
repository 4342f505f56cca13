"""Comparisons of runs: by hand, by slow versions, and what must never be lost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest
from tests.conftest import benchmark_of, choices_of, grid_item, run_of
from tests.measures.test_foil import foil_run
from typer.testing import CliRunner

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.measures.choice import ACCURACY, ChoiceMeasure
from tellapart.measures.comparison import Comparison
from tellapart.measures.contestants import labels
from tellapart.measures.contrast import RandomDraws, contrasts, paired_units, reduced_contrasts
from tellapart.measures.scores import estimates
from tellapart.score.run import Run, save_run
from tellapart.stats.roc import auc_difference
from tellapart.verbs.runs.compare import compare
from tellapart.verbs.runs.measure import measure

RIGHT, WRONG, TIED = [[1.0], [0.0]], [[0.0], [1.0]], [[1.0], [1.0]]


def named(run: Run, name: str) -> Run:
    return replace(run, card=replace(run.card, model=name))


def pairs_benchmark(n: int, per_image: int = 1, **more: object) -> Benchmark:
    """Items of two images and one caption; `per_image` items in a row share theirs."""
    items = [
        grid_item(
            str(k), 2, 1, {(0, 0)}, image_ids=[f"a{k // per_image}", f"b{k // per_image}"], **more
        )
        for k in range(n)
    ]
    return benchmark_of(items)


def answered(benchmark: Benchmark, name: str, right: list[bool]) -> Run:
    grids = {str(k): RIGHT if yes else WRONG for k, yes in enumerate(right)}
    return named(run_of(benchmark, grids), name)


def one(runs: list[Run], **options: object):
    (pair,) = compare(runs, resamples=500, permutations=500, **options).pairs  # type: ignore[arg-type]
    return pair


def test_a_small_comparison_by_hand():
    benchmark = pairs_benchmark(8, per_image=2)  # four groups
    first = answered(benchmark, "first", [1, 1, 1, 1, 1, 0, 1, 0])
    second = answered(benchmark, "second", [0, 0, 1, 0, 1, 1, 0, 0])
    pair = one([first, second])
    assert (pair.first_value, pair.second_value) == (6 / 8, 3 / 8)
    assert pair.difference == pytest.approx(3 / 8)
    assert (pair.won, pair.lost, pair.level, pair.n, pair.clusters) == (4, 1, 3, 8, 4)
    # sums of the groups: 2, 1, -1, 1; of 16 flips those that reach 3: totals 5 and 3, twice each
    totals = [abs(a * 2 + b + c + d) for a in (1, -1) for b in (1, -1) for c in (1, -1)
              for d in (1, -1)]  # fmt: skip
    assert pair.p == np.mean([total >= 3 for total in totals]) == 0.5
    assert pair.naive_p == pytest.approx(binomtest(4, 5).pvalue)
    assert pair.test == "all sign flips over groups"
    assert pair.low < 3 / 8 < pair.high


def test_the_difference_is_that_of_the_measured_values_on_every_benchmark(benchmarks, tmp_path):
    runs = ta.evaluate(
        ["oracle", "chance", "blind", "chance-chooser"],
        list(benchmarks.values()),
        tmp_path / "runs",
    )
    for rule in ("wrong", "half"):
        scores = measure(runs, ties=rule, by_kind=True, resamples=10)
        halved = measure(runs, ties="half", by_kind=True, resamples=10)  # as lines always are
        found = compare(runs, ties=rule, by_kind=True, resamples=50, permutations=50)
        assert {p.measure for p in found.pairs} == {r.measure for r in scores.rows}
        for pair in found.pairs:
            where = {"benchmark": pair.benchmark, "measure": pair.measure, "kind": pair.kind}
            first = scores.value(model=pair.first, **where)
            second = halved.value(model=pair.second, **where)
            assert pair.first_value == pytest.approx(first)
            assert pair.difference == pytest.approx(first - second)
            assert pair.low <= pair.difference + 1e-9 and pair.difference - 1e-9 <= pair.high
            assert pair.won + pair.lost + pair.level == pair.n


def test_pitfall_2_ties_are_counted_and_count_by_the_rule():
    benchmark = pairs_benchmark(4)
    first = named(run_of(benchmark, {str(k): TIED for k in range(4)}), "first")
    second = answered(benchmark, "second", [1, 0, 0, 0])
    differences = {
        rule: one([first, second], ties=rule).difference for rule in ("wrong", "half", "right")
    }
    assert differences == {"wrong": -1 / 4, "half": 1 / 4, "right": 3 / 4}
    pair = one([first, second], ties="half")
    assert (pair.first_ties, pair.second_ties, pair.won, pair.lost) == (4, 0, 3, 1)
    with pytest.raises(BadInput, match="nothing to compare"):
        compare([first, second], ties="drop")


def test_dropped_ties_leave_the_unit_out_for_both_models():
    benchmark = pairs_benchmark(3)
    first = named(run_of(benchmark, {"0": TIED, "1": RIGHT, "2": RIGHT}), "first")
    second = answered(benchmark, "second", [1, 1, 0])
    pair = one([first, second], ties="drop")
    assert (pair.n, pair.won, pair.level, pair.first_ties) == (2, 1, 1, 1)


def test_joint_outcomes_with_fractions_are_compared():
    items = [grid_item(str(k), 2, 2, {(0, 0), (1, 1)}, original=(0, 0)) for k in range(6)]
    benchmark = benchmark_of(items, ("Group",))
    flat = named(run_of(benchmark, {str(k): [[1, 1], [1, 1]] for k in range(6)}), "flat")
    right = {str(k): [[1, 0], [0, 1]] for k in range(3)}
    half = named(run_of(benchmark, right | {str(k): [[0, 1], [1, 0]] for k in range(3, 6)}), "half")
    pair = one([flat, half], ties="half")
    assert pair.difference == pytest.approx(1 / 6 - 1 / 2)
    assert (pair.won, pair.lost) == (3, 3)


def test_pitfall_16_items_that_share_images_are_one_observation():
    """Ten items in two groups: the naive test is sure, the one over groups cannot be."""
    benchmark = pairs_benchmark(10, per_image=5)
    pair = one([answered(benchmark, "a", [1] * 10), answered(benchmark, "b", [0] * 10)])
    assert pair.naive_p < 0.01
    assert pair.p == 0.5 and pair.mark == "~"
    assert "too few" in pair.verdict


def test_pitfall_16_all_pairs_are_corrected_together():
    rng = np.random.default_rng(0)
    benchmark = pairs_benchmark(60)
    runs = [answered(benchmark, f"m{k}", list(rng.random(60) < 0.5)) for k in range(5)]
    pairs = compare(runs, resamples=100, permutations=400).pairs
    assert len(pairs) == 10
    for pair in pairs:
        assert pair.p <= pair.p_holm <= 1
    smallest = min(pairs, key=lambda pair: pair.p)
    assert smallest.p_holm == pytest.approx(min(1.0, 10 * smallest.p))


def test_pitfall_17_a_gain_on_one_kind_only_is_shown():
    items = [grid_item(f"s{k}", 2, 1, {(0, 0)}, kind="swap-object") for k in range(20)]
    items += [grid_item(f"r{k}", 2, 1, {(0, 0)}, kind="replace-object") for k in range(60)]
    benchmark = benchmark_of(items)
    base = {item.id[5:]: WRONG for item in items}
    tuned = base | {f"r{k}": RIGHT for k in range(60)}
    runs = [named(run_of(benchmark, tuned), "tuned"), named(run_of(benchmark, base), "base")]
    pair = one(runs)
    assert pair.by_kind == {"replace-object": 1.0, "swap-object": 0.0}
    assert "+0.0 on swap-object to +100.0 on replace-object" in str(compare(runs))
    found = compare(runs, by_kind=True)
    differences = {p.kind: p.difference for p in found.pairs}
    assert differences == pytest.approx(
        {"micro": 0.75, "macro": 0.5, "replace-object": 1.0, "swap-object": 0.0}
    )
    marks = {p.kind: p.mark for p in found.pairs}
    assert marks["swap-object"] == "~" and marks["replace-object"] != "~"


def test_pitfall_23_a_failure_counts_as_wrong_and_stays_in():
    benchmark = pairs_benchmark(4)
    first = named(run_of(benchmark, {"0": [[1.0]], "1": RIGHT, "2": RIGHT, "3": RIGHT}), "first")
    second = answered(benchmark, "second", [1, 1, 1, 1])
    pair = one([first, second])
    assert (pair.n, pair.lost, pair.first_failed, pair.second_failed) == (4, 1, 1, 0)


def test_pitfall_23_only_what_both_cover_counts_and_the_rest_is_told():
    benchmark = pairs_benchmark(6)
    first = named(run_of(benchmark, {str(k): RIGHT for k in range(5)}), "first")
    second = named(run_of(benchmark, {str(k): WRONG for k in range(2, 6)}), "second")
    pair = one([first, second])
    assert (pair.n, pair.clusters, pair.only_first, pair.only_second) == (3, 3, 2, 1)
    assert (pair.first_value, pair.second_value) == (1.0, 0.0)


def test_other_runs_do_not_change_a_pair_where_coverage_differs():
    rng = np.random.default_rng(1)
    benchmark = pairs_benchmark(90, per_image=3)
    a, b = (answered(benchmark, name, list(rng.random(90) < 0.6)) for name in "ab")
    part = named(run_of(benchmark, {str(k): RIGHT for k in range(9)}), "part")
    alone = one([a, b])
    among = compare([a, b, part], resamples=500, permutations=500).only(first="a", second="b")
    (again,) = among.pairs
    assert (again.low, again.high, again.p) == (alone.low, alone.high, alone.p)
    nothing = named(run_of(benchmark, {"89": RIGHT}), "nothing")
    found = compare([a, part, nothing], resamples=50, permutations=50)
    assert "part and nothing have no unit of accuracy in common that counts" in found.remarks
    assert len(found.pairs) == 2


def test_units_are_matched_by_item_whatever_the_order_of_the_items():
    items = [grid_item(str(k), 2, 1, {(0, 0)}) for k in range(5)]
    straight, turned = benchmark_of(items), benchmark_of(items[::-1])
    assert straight.sha256 == turned.sha256
    right = [1, 0, 0, 1, 1]
    pair = one([answered(straight, "first", right), answered(turned, "second", right)])
    assert (pair.won, pair.lost, pair.level) == (0, 0, 5)
    assert "the same on every unit" in pair.verdict


def test_a_scorer_and_a_chooser_are_compared_question_by_question():
    items = [grid_item(str(k), 2, 2, {(0, 0), (1, 1)}, original=(0, 0)) for k in range(2)]
    benchmark = benchmark_of(items, ("accuracy", "Group"))
    # the scorer gets the second image of each item wrong, and the second caption
    scorer = named(run_of(benchmark, {str(k): [[3, 1], [4, 2]] for k in range(2)}), "scorer")
    asked = ["caption@0", "caption@1", "image@0", "image@1"]
    said = [0, 0, 1, 1]  # just what the scorer's cells say
    answers = [(str(k), q, c) for k in range(2) for q, c in zip(asked, said, strict=True)]
    chooser = named(choices_of(benchmark, answers), "chooser")
    found = compare([scorer, chooser], resamples=50, permutations=50)
    pair = found.only(measure="accuracy").pairs[0]
    assert (pair.n, pair.level) == (8, 8)
    assert any(" is not the same for all models" in remark for remark in found.remarks)


def test_auc_is_compared_by_its_own_test(benchmarks, tmp_path):
    runs = ta.evaluate(["oracle", "chance", "chance-chooser"], [benchmarks["foil"]], tmp_path / "r")
    found = compare(runs, measures=["T1-AUC"], by_kind=True)
    (pair,) = found.pairs
    assert pair.test.startswith("Obuchowski") and pair.naive_test.startswith("DeLong")
    scores = measure(runs, measures=["T1-AUC"])
    assert abs(pair.difference) == pytest.approx(
        abs(
            scores.value(model=pair.first, kind="micro")
            - scores.value(model=pair.second, kind="micro")
        )
    )
    assert "T1-AUC does not apply to chance-chooser" in found.remarks


class SlowAccuracy(ChoiceMeasure):
    """A mean that does not say so: it goes the way of measures that are not means."""

    def reduce(self, values):
        return float(np.mean(values))


SLOW = SlowAccuracy(**vars(ACCURACY))


@pytest.mark.parametrize(("number", "macro"), [(12, False), (12, True), (60, False), (60, True)])
def test_a_measure_that_is_not_a_mean_is_compared_as_a_mean_would_be(number, macro):
    """12 items are gone through exactly, 60 are drawn."""
    kinds = ["x" if k % 3 else "y" for k in range(number)]
    items = [grid_item(str(k), 2, 1, {(0, 0)}, kind=kind) for k, kind in enumerate(kinds)]
    bench = benchmark_of(items)
    runs = [
        answered(bench, "first", [k % 4 != 0 for k in range(number)]),
        answered(bench, "second", [k % 3 == 0 for k in range(number)]),
    ]
    _, units = paired_units(runs, ACCURACY, "wrong")
    wanted, draws = np.ones(number, bool), RandomDraws(4_000, 4_000, 0)
    (quick,) = contrasts(units, wanted, [(0, 1)], draws, macro=macro)
    (slow,) = reduced_contrasts(SLOW, units, wanted, [(0, 1)], draws, macro=macro)
    assert not SLOW.is_mean and ACCURACY.is_mean
    for name in ("first_value", "second_value", "difference", "naive_p", "clusters", "differing"):
        assert getattr(slow, name) == pytest.approx(getattr(quick, name)), name
    assert slow.p == pytest.approx(quick.p, abs=1e-9 if number == 12 else 0.02)
    assert (slow.low, slow.high) == pytest.approx((quick.low, quick.high), abs=0.03)
    assert slow.error == pytest.approx(quick.error, rel=0.1)
    by_kind = zip(estimates(runs[0], ACCURACY), estimates(runs[0], SLOW), strict=True)
    for fast, own in by_kind:
        assert (own.value, own.chance) == pytest.approx((fast.value, fast.chance))
        if number == 60 and fast.kind == "micro":  # with fewer the two ways are not the same
            assert (own.low, own.high) == pytest.approx((fast.low, fast.high), abs=0.05)


def test_a_difference_that_never_varies_has_nothing_to_resample():
    bench = pairs_benchmark(5)
    runs = [answered(bench, "first", [True] * 5), answered(bench, "second", [True] * 5)]
    _, units = paired_units(runs, ACCURACY, "wrong")
    draws = RandomDraws(50, 50, 0)
    (slow,) = reduced_contrasts(SLOW, units, np.ones(5, bool), [(0, 1)], draws)
    (quick,) = contrasts(units, np.ones(5, bool), [(0, 1)], draws)
    assert (slow.p, slow.difference, slow.error, slow.method) == (1.0, 0.0, 0.0, quick.method)
    assert (slow.low, slow.high) == pytest.approx((quick.low, quick.high))


def test_same_seed_same_numbers_and_another_seed_others():
    rng = np.random.default_rng(2)
    benchmark = pairs_benchmark(50)
    runs = [answered(benchmark, name, list(rng.random(50) < 0.5)) for name in "ab"]
    assert one(runs) == one(runs)
    assert one(runs, seed=1) != one(runs)


def test_swapping_two_runs_mirrors_everything():
    rng = np.random.default_rng(6)
    benchmark = pairs_benchmark(120, per_image=2)
    runs = [
        answered(benchmark, name, list(rng.random(120) < p)) for name, p in (("a", 0.7), ("b", 0.5))
    ]
    there, back = one(runs), one(runs[::-1])
    assert back.difference == pytest.approx(-there.difference)
    assert (back.p, back.naive_p, back.won) == (there.p, there.naive_p, there.lost)
    assert back.low == pytest.approx(-there.high, abs=0.02)


def test_what_is_not_told_from_noise_says_how_many_units_would_be_needed():
    rng = np.random.default_rng(3)
    benchmark = pairs_benchmark(200)
    runs = [
        answered(benchmark, name, list(rng.random(200) < p))
        for name, p in (("a", 0.52), ("b", 0.5))
    ]
    pair = one(runs)
    assert pair.mark == "~" and pair.needed_units > 200
    assert f"needs about {pair.needed_units:,} units" in str(compare(runs))
    assert pair.detectable == pytest.approx(
        abs(pair.difference) * (pair.needed_units / 200) ** 0.5, rel=0.01
    )


def test_runs_of_one_model_are_told_apart():
    benchmark = pairs_benchmark(2)
    run = answered(benchmark, "m", [1, 1])
    assert labels([run, replace(run), named(run, "other")]) == ["m (run 1)", "m (run 2)", "other"]


def two_runs() -> list[Run]:
    benchmark = pairs_benchmark(30)
    return [answered(benchmark, "100%_a&b", [1] * 30), answered(benchmark, "b", [0, 1] * 15)]


def test_it_prints_marks_and_what_they_mean_and_escapes_latex():
    found = compare(two_runs())
    text = str(found)
    assert "***" in text and "*** p < 0.001" in text and "is better than b by 50.00 points" in text
    latex = found.to_latex()
    assert r"100\%\_a\&b" in latex and r"\toprule" in latex and r"^{***}" in latex
    body = latex.split(r"\midrule")[1].split(r"\bottomrule")[0]
    assert body.replace(r"\&", "").count("&") == 12


def test_json_and_table_hold_every_pair():
    found = compare(two_runs(), by_kind=True)
    data = json.loads(json.dumps(found.to_json()))
    assert data["pairs"][0]["difference"] == 0.5 and data["pairs"][0]["mark"] == "***"
    frame = found.to_frame()
    assert frame.height == len(found.pairs) and frame["needed_units"].dtype.is_integer()
    assert Comparison(found.pairs).only(kind="nothing").pairs == ()


@pytest.mark.parametrize("count", [0, 1])
def test_less_than_two_runs_of_a_benchmark_is_an_error_that_says_so(count):
    with pytest.raises(BadInput, match="nothing to compare"):
        compare(two_runs()[:count])


def test_wrong_options_are_errors():
    with pytest.raises(UnknownName):
        compare(two_runs(), ties="perhaps")
    with pytest.raises(BadInput, match="random draws"):
        compare(two_runs(), resamples=0)


def test_the_verb_prints_text_json_and_latex(benchmarks, tmp_path: Path):
    ta.evaluate(["oracle", "chance"], [benchmarks["bison"]], tmp_path / "runs")

    def said(*more: str) -> str:
        result = CliRunner().invoke(app, ["compare", str(tmp_path / "runs"), *more])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "points above chance" in said("--resamples", "500", "--by-kind")
    assert json.loads(said("--json", "--measure", "accuracy"))["pairs"][0]["measure"] == "accuracy"
    assert said("--latex").startswith("% needs")


def test_saved_runs_compare_like_those_in_memory(benchmarks, tmp_path: Path):
    runs = ta.evaluate(["oracle", "chance"], [benchmarks["mcic"]], tmp_path / "runs")
    kept = [save_run(run, tmp_path / f"copy{k}") for k, run in enumerate(runs)]
    paths = [run.folder for run in kept]
    assert compare(paths, resamples=50).pairs == compare(runs, resamples=50).pairs


def shared_foils(n: int, per_image: int) -> tuple[Benchmark, np.ndarray]:
    """A true caption and a foil an item, several items in a row on one image; and their groups."""
    images = [[f"i{k // per_image}"] for k in range(n)]
    items = [grid_item(str(k), 1, 2, {(0, 0)}, image_ids=images[k]) for k in range(n)]
    return benchmark_of(items, ("T1-AUC",)), np.arange(n) // per_image


@pytest.mark.parametrize("ties", ["wrong", "half", "drop"])
def test_pitfall_16_areas_are_compared_over_groups_not_items(ties):
    benchmark, group = shared_foils(60, per_image=6)
    rng = np.random.default_rng(4)
    easy = rng.normal(size=10)[group]  # what lies in the image helps the first model in all items

    def scored(name, lead):
        grids = {str(k): [[round(float(rng.normal() + lead[k]), 1), 0.0]] for k in range(60)}
        return named(run_of(benchmark, grids), name)

    first, second = scored("first", 2 * easy + 1), scored("second", np.full(60, 0.3))
    pair = one([first, second], ties=ties)
    assert pair.clusters == 10
    own = {row.model: row for row in measure([first, second], ties=ties).rows}
    assert pair.first_value == pytest.approx(own["first"].value)
    assert pair.second_value == pytest.approx(own["second"].value)
    scores = [run.scores["score"].to_numpy() for run in (first, second)]
    true, tie = np.tile([True, False], 60), {"wrong": 0.0, "half": 0.5, "drop": None}[ties]
    seen = auc_difference(*scores, true, np.repeat(group, 2), tie)
    assert (pair.p, pair.error) == pytest.approx((seen.p, seen.error))
    assert pair.error > 1.5 * auc_difference(*scores, true, np.arange(120), tie).error


def drawn_runs(*names: str, n: int = 60) -> list[Run]:
    """Runs with random answers on one benchmark."""
    rng = np.random.default_rng(3)
    benchmark = pairs_benchmark(n)
    return [answered(benchmark, name, list(rng.random(n) < 0.3 + 0.2 * k))
            for k, name in enumerate(names)]  # fmt: skip


def test_a_pair_has_one_p_value_in_any_company():
    runs = drawn_runs("a", "b", "c")
    alone = compare(runs[:2]).pairs[0]
    together = {(p.first, p.second): p for p in compare(runs).pairs}["a", "b"]
    assert (alone.p, alone.low, alone.high) == (together.p, together.low, together.high)
    # lines are corrected apart: with them a pair's corrected p stays what it was
    lined = compare([*drawn_runs("chance?seed=1", "constant"), *runs]).pairs
    contest = [p for p in lined if not p.against_line]
    assert [(p.first, p.second, p.p, p.p_holm) for p in contest] == [
        (p.first, p.second, p.p, p.p_holm) for p in compare(runs).pairs
    ]
    assert {(p.first, p.second) for p in lined if p.against_line} == {
        (model, line) for model in "abc" for line in ("chance?seed=1", "constant")
    }


@pytest.mark.parametrize("measure_name", ["accuracy", "T1-AUC"])
def test_ties_of_a_line_are_halved_so_that_nothing_is_above_it_by_ties_alone(measure_name):
    """A model that never looks ties everywhere: a model that is right in half is level with it."""
    fair = foil_run({"a": (8.0, 7.0), "b": (1.0, 2.0), "c": (6.0, 5.0), "d": (3.0, 4.0)}, {})
    tied = foil_run(dict.fromkeys("abcd", (1.0, 1.0)), {})
    line = replace(tied, card=replace(tied.card, model="constant"))
    for rule in ("wrong", "right", "half"):
        (pair,) = compare([fair, line], measures=[measure_name], ties=rule).pairs
        assert (pair.first_value, pair.second_value, pair.difference) == (0.5, 0.5, 0.0)
    other = replace(tied, card=replace(tied.card, model="contestant"))
    (pair,) = compare([fair, other], measures=[measure_name]).pairs
    assert pair.second_value == 0.0, "a contestant's ties count by the rule"
    assert "their ties halved" in str(compare([fair, line]))


def test_t1_is_compared_under_the_name_of_its_way():
    fitted = foil_run({"a": (5.0, 2.0), "b": (4.0, 3.0)}, {})
    other = replace(fitted, card=replace(fitted.card, model="other"))
    assert ", T1@fitted, micro" in str(compare([fitted, other], measures=["T1"]))
    own = replace(fitted, card=replace(fitted.card, model="classifier", threshold=1.0))
    assert ", T1, micro" in str(compare([fitted, own], measures=["T1"]))


def test_a_line_is_never_better_but_above_or_below():
    right, line = drawn_runs("model", "blind", n=200)
    (pair,) = compare([line, right]).pairs
    assert (pair.first, pair.second) == ("model", "blind") and pair.difference < 0
    assert "below blind" in pair.verdict and "better" not in str(compare([line, right]))


def test_a_difference_says_how_many_ties_it_rests_on():
    benchmark = pairs_benchmark(12)
    tied = {str(k): TIED if k < 8 else RIGHT for k in range(12)}
    first = named(run_of(benchmark, tied), "first")
    second = answered(benchmark, "second", [1] * 10 + [0] * 2)
    pair = one([first, second])
    assert (pair.won, pair.lost, pair.ties_behind) == (2, 8, 8)
    assert "8 of the 10 units that differ rest on a tie" in pair.verdict
    assert pair.verdict in str(compare([first, second]))


def test_runs_are_called_the_same_everywhere(tmp_path):
    bench = save_benchmark(pairs_benchmark(6), tmp_path / "bench")
    for where in ("old", "new"):
        for name in ("m", "other"):
            run = replace(answered(bench, name, [1, 0] * 3), benchmark=bench)
            save_run(run, tmp_path / where / "bench" / name)
    paths = [tmp_path / "old", tmp_path / "new"]
    names = ["m (new)", "m (old)", "other (new)", "other (old)"]
    assert sorted({row.model for row in measure(paths).rows}) == names
    assert sorted(ta.outcomes(paths)["model"].unique()) == names
    assert sorted({n for p in compare(paths).pairs for n in (p.first, p.second)}) == names
    page = ta.report(paths, tmp_path / "page.html", ta.ReportOptions(gallery=0)).read_text()
    assert all(name in page for name in names)
