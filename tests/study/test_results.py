"""What comes out of studies, against tables that were worked out by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.conftest import benchmark_of, grid_item

import tellapart as ta
from tellapart.errors import BadInput
from tellapart.stats.agreement import ordinal_alpha
from tellapart.study.effort import StudyEffort, expected_kappa, majority_right, plan_effort
from tellapart.study.export import human_run, save_verified
from tellapart.study.plan import Stage, StudyPlan
from tellapart.study.questions.foil import WORD
from tellapart.study.questions.question import JudgedTask, Judgement, Matter, Share, Truth
from tellapart.study.questions.rate import RateDetail
from tellapart.study.results import StudyRecord, agreements, figures, funnel

ITEM = "test:{}".format


def judged(number, ask, answers, truth=None, words=(), **more):
    """A closed task; answers are "person choice word" or "person choice"."""
    said = []
    for answer in answers:
        person, choice, *word = answer.split()
        said.append(Judgement(person, choice, int(word[0]) if word else None, ()))
    known = Truth(frozenset({truth}), frozenset(words)) if truth else None
    matter = Matter(
        ITEM(more.pop("item", f"n{number}")), more.pop("question", "image@0"),
        more.pop("images", ("i0", "i1")), more.pop("captions", ("A dog.",)), known,
    )  # fmt: skip
    stage = more.pop("stage", ask)
    return JudgedTask(number, more.pop("parent", None), stage, ask, matter, "closed",
                  more.pop("kept", True), more.pop("chosen", None), tuple(said))  # fmt: skip


def gathered(*tasks, items=None, stages=None):
    """Tasks of items that stand alone, so that each is its own cluster."""
    names = sorted({task.matter.item.removeprefix("test:") for task in tasks})
    benchmark = items or benchmark_of([grid_item(name, 2, 1, {(0, 0)}) for name in names])
    every = stages or list(dict.fromkeys((task.stage, task.ask) for task in tasks))
    plan = StudyPlan("x", "by hand", tuple(Stage(name, ask) for name, ask in every))
    return StudyRecord(plan, benchmark, tuple(tasks))


def shares(found):
    return {(one.about, one.how): (round(one.value, 4), one.n) for one in found}


def test_majority_unanimity_and_at_least_one_of_three():
    """MCIC's figures: 12 answers, of which 9 are right."""
    found = figures(
        gathered(
            judged(1, "best-of-five", ["a 2", "b 2", "c 2"], "2"),
            judged(2, "best-of-five", ["a 2", "b 0", "c 2"], "2"),
            judged(3, "best-of-five", ["a 2", "b 1", "c 3"], "2"),
            judged(4, "best-of-five", ["a 1", "b 1", "c 1"], "1"),
        )
    )
    assert shares(found) == {
        ("all", "each answer"): (0.75, 12),
        ("all", "majority"): (0.75, 4),
        ("all", "unanimity"): (0.5, 4),
        ("all", "at least one"): (1.0, 4),
    }


def test_foil_figures_and_the_word_among_foils_judged_rightly():
    """Two right captions, three foils; the wrong word of each foil is word 1."""
    foil = {"truth": "wrong", "words": (1,)}
    found = shares(
        figures(
            gathered(
                judged(1, "foil", ["a right", "b right", "c right"], "right"),
                judged(2, "foil", ["a right", "b wrong 0", "c wrong 2"], "right"),
                judged(3, "foil", ["a wrong 1", "b wrong 1", "c wrong 1"], **foil),
                judged(4, "foil", ["a wrong 1", "b wrong 1", "c right"], **foil),
                judged(5, "foil", ["a wrong 1", "b wrong 0", "c wrong 2"], **foil),
            )
        )
    )
    assert found["all", "majority"] == (0.8, 5) and found["all", "unanimity"] == (0.6, 5)
    assert found["right captions", "majority"] == (0.5, 2)
    assert found["foils", "majority"] == (1.0, 3) and found["foils", "unanimity"] == (0.6667, 3)
    # by majority all three foils are judged rightly, and the word is found in two
    assert found[WORD, "majority"] == (0.6667, 3)
    # unanimously two are, and everyone points at the word in one
    assert found[WORD, "unanimity"] == (0.5, 2)


def test_unanimity_is_left_out_where_asking_stopped_early():
    found = figures(
        gathered(
            judged(1, "which-image", ["a 0", "b 0"], "0"),
            judged(2, "which-image", ["a 0", "b 1", "c 0"], "0"),
        )
    )
    assert {one.how for one in found} == {"each answer", "majority"}


def test_cohens_kappa_by_pair_on_some_image_or_none():
    """BiVLC's agreement: 10 items, both some 4, both none 3, the rest split: kappa 0.4."""
    rows = [("0", "2")] * 4 + [("none", "none")] * 3 + [("1", "none")] * 2 + [("none", "3")]
    tasks = [
        judged(k, "best-image", [f"a {x}", f"b {y}"], images=("p", "q", "r", "s"))
        for k, (x, y) in enumerate(rows)
    ]
    found = {(row.about, row.measure): row for row in agreements(gathered(*tasks))}
    kappa = found["some or none", "Cohen's kappa"]
    assert kappa.people == "a and b" and kappa.items == 10
    assert kappa.value == pytest.approx((0.7 - (0.6 * 0.5 + 0.4 * 0.5)) / 0.5)
    assert found["some or none", "raw agreement"].value == pytest.approx(0.7)
    assert found["answer", "raw agreement"].value == pytest.approx(0.3)
    assert kappa.low < kappa.value < kappa.high


def test_the_mean_over_pairs_of_people_is_given():
    tasks = [judged(k, "which-image", [f"a {k % 2}", f"b {k % 2}"], "0") for k in range(6)]
    tasks += [judged(9 + k, "which-image", [f"c {k % 2}", f"d {k // 2 % 2}"]) for k in range(4)]
    rows = agreements(gathered(*tasks))
    pairs = [row.value for row in rows if row.measure == "Cohen's kappa"]
    (mean,) = [row for row in rows if row.measure == "mean of Cohen's kappas"]
    assert len(pairs) == 2 and mean.value == pytest.approx(np.mean(pairs))
    assert mean.high == 1, "one kappa is 1 and one is 0: 0.5 and 1.96 errors of 0.5 go beyond 1"


def test_a_target_that_always_has_the_same_place_does_not_hide_agreement():
    """In verification the target is place 0 of every task: kappa by place would be undefined."""
    tasks = [
        judged(k, "which-image", ["a 0", "b 0"], "0", images=(f"t{k}", f"d{k}")) for k in range(30)
    ]
    found = {row.measure: row.value for row in agreements(gathered(*tasks))}
    assert found["Cohen's kappa"] == pytest.approx(1.0)


def test_ratings_are_compared_on_their_scale():
    krippendorff = pytest.importorskip("krippendorff")
    rng = np.random.default_rng(0)
    ratings = rng.integers(0, 5, (50, 3))
    ratings[:, 1] = np.clip(ratings[:, 0] + rng.integers(-1, 2, 50), 0, 4)
    ratings[rng.random(ratings.shape) < 0.2] = -1
    gaps = np.where(ratings < 0, np.nan, ratings.astype(float))
    expected = krippendorff.alpha(gaps.T, level_of_measurement="ordinal")
    assert ordinal_alpha(ratings, np.arange(50), rng).value == pytest.approx(expected)
    tasks = [judged(k, "rate-detail", [f"a {k % 5 + 1}", f"b {k % 5 + 1}"]) for k in range(20)]
    found = {row.measure: row.value for row in agreements(gathered(*tasks))}
    assert found["Krippendorff's alpha, ordinal"] == pytest.approx(1.0)


def test_people_stand_in_the_same_tables_as_models():
    """BiVLC's baseline: the first instance is all right, the second errs on one image."""
    items = benchmark_of(
        [grid_item(name, 2, 2, {(0, 0), (1, 1)}) for name in ("n1", "n2")], ("Group", "I2T", "T2I")
    )
    answers = {
        "n1": {"caption@0": "0", "caption@1": "1", "image@0": "0", "image@1": "1"},
        "n2": {"caption@0": "0", "caption@1": "0", "image@0": "0", "image@1": "1"},
    }
    tasks = [
        judged(k, "choose-caption", [f"a {choice}"], item=name, question=question)
        for k, (name, question, choice) in enumerate(
            (n, q, c) for n, some in answers.items() for q, c in some.items()
        )
    ]
    run = human_run(gathered(*tasks, items=items), items)
    found = {e.measure: e.value for e in ta.measure(run).rows if e.kind == "micro"}
    assert found == {"Group": 0.5, "I2T": 0.5, "T2I": 1.0}


def test_both_and_a_draw_count_as_wrong_answers():
    items = benchmark_of([grid_item("n1", 2, 1, {(0, 0)}), grid_item("n2", 2, 1, {(1, 0)})])
    some = gathered(
        judged(1, "which-image", ["a both", "b 0"], "0", item="n1"),
        judged(2, "which-image", ["a 1", "b 1"], "1", item="n2"),
        items=items,
    )
    (each,) = [e for e in ta.measure(human_run(some, items)).rows if e.kind == "micro"]
    (most,) = [
        e for e in ta.measure(human_run(some, items, majority=True)).rows if e.kind == "micro"
    ]
    assert each.value == pytest.approx(0.75) and most.value == pytest.approx(0.5)


def test_a_run_of_questions_that_no_model_is_asked_is_refused():
    with pytest.raises(BadInput, match="no question that models can be asked"):
        human_run(some := gathered(judged(1, "rate-detail", ["a 3"], question="detail@0")),
                  some.benchmark)  # fmt: skip


def test_picked_and_verified_captions_become_bison_items_with_who_agreed(tmp_path):
    items = benchmark_of([grid_item("n1", 2, 2, {(0, 0), (0, 1)}), grid_item("n2", 2, 1, {(0, 0)})])
    pick = {"stage": "pick", "images": ("n1-i0", "n1-i1"), "captions": ("A dog.", "A red dog.")}
    some = gathered(
        judged(1, "pick-caption", ["a 1"], chosen="1", item="n1", **pick),
        judged(2, "pick-caption", ["b none"], kept=False, item="n2", stage="pick"),
        judged(3, "which-image", ["b 0", "c 0"], "0", stage="verify", parent=1, chosen="0",
               item="n1", images=("n1-i0", "n1-i1"), captions=("A red dog.",)),
        items=items,
        stages=[("pick", "pick-caption"), ("verify", "which-image")],
    )  # fmt: skip
    made = save_verified(some, tmp_path / "bison")
    (item,) = made.items
    ((place, _),) = item.true
    assert item.captions == ("A red dog.",) and item.images[place] == "n1-i0"
    assert item.origin.notes["verify image@0"] == "2 of 2: b c"
    assert made.card.verified.startswith("by 3 people")
    steps = [(step.came, step.kept, step.dropped) for step in funnel(some)]
    assert steps == [(2, 1, 1), (1, 1, 0)]
    assert ta.load_benchmark(tmp_path / "bison").sha256 == made.sha256


def test_an_item_is_kept_only_if_all_that_was_asked_of_it_was(tmp_path):
    items = benchmark_of([grid_item(name, 2, 2, {(0, 0), (1, 1)}) for name in ("n1", "n2")])
    some = gathered(
        judged(0, "choose-image", ["a 0"], "0", item="n1", question="image@0"),
        judged(1, "choose-image", ["a 1"], "1", item="n1", question="image@1"),
        judged(2, "choose-image", ["a 0"], "0", item="n2", question="image@0"),
        judged(3, "choose-image", ["a 0"], "1", item="n2", question="image@1", kept=False),
        items=items,
    )  # fmt: skip
    assert [item.id for item in save_verified(some, tmp_path / "kept").items] == ["test:n1"]


def test_nothing_verified_is_an_error_that_says_so(tmp_path):
    with pytest.raises(BadInput, match="no item is verified yet"):
        save_verified(gathered(judged(1, "which-image", ["a 1"], "0", kept=False)), tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_tasks_without_a_known_truth_have_no_share_of_right_answers():
    known = judged(1, "which-image", ["a 0"], "0")
    found = figures(gathered(known, judged(2, "which-image", ["a 1"])))
    assert shares(found) == {("all", "each answer"): (1.0, 1)}


def test_a_question_may_count_answers_that_are_neither_right_nor_wrong(monkeypatch):
    def agreeing(_self, tasks):
        yield Share("captions", "5 of 5", tuple((task, task.chosen == "5") for task in tasks))
        yield Share("nothing", "at all", ())

    monkeypatch.setattr(RateDetail, "figures", agreeing)
    tasks = [judged(k, "rate-detail", ["a 5"], chosen="5" if k else "4") for k in range(4)]
    assert shares(figures(gathered(*tasks))) == {("captions", "5 of 5"): (0.75, 4)}


def slow_majority(error, judgements):
    """Go through every way in which the judgements can fall."""
    total = 0.0
    for way in product([True, False], repeat=judgements):
        if 2 * sum(way) > judgements:
            total += float(np.prod([1 - error if right else error for right in way]))
    return total


@pytest.mark.parametrize("judgements", [1, 2, 3, 5, 7])
def test_planned_majorities_equal_the_sum_over_all_ways(judgements):
    assert majority_right(0.13, judgements) == pytest.approx(slow_majority(0.13, judgements))


def test_planned_kappa_is_what_drawn_people_reach():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200_000)
    answers = []
    for _ in range(2):
        wrong = (truth + rng.integers(1, 4, len(truth))) % 4
        answers.append(np.where(rng.random(len(truth)) < 0.2, wrong, truth))
    same = np.mean(answers[0] == answers[1])
    shares = [np.bincount(one, minlength=4) / len(truth) for one in answers]
    chance = float(shares[0] @ shares[1])
    assert expected_kappa(0.2, 4) == pytest.approx((same - chance) / (1 - chance), abs=0.01)


def test_a_plan_says_what_it_costs_and_refuses_nonsense():
    table = plan_effort(StudyEffort(error=0.1, items=100, at_most=50, seconds=36), (1, 3))
    assert [(row.people, row.hours) for row in table.rows] == [(2, 1.0), (6, 3.0)]
    assert "kappa" in str(table)
    with pytest.raises(BadInput, match="error"):
        plan_effort(StudyEffort(error=1.5))
