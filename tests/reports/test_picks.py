"""What a model is said to have chosen must agree with what it is measured by."""

from __future__ import annotations

from collections import Counter

import pytest

import tellapart as ta
from tellapart import registry
from tellapart.measures.scores import asks_of, estimates
from tellapart.questions import Ask, questions
from tellapart.reports.picks import State, reader, verdict_measure, verdicts
from tellapart.verbs.runs.evaluate import EvaluateOptions


@pytest.mark.parametrize("benchmark", ["bison", "mcic", "bivlc"])
def test_right_items_are_as_many_as_the_main_measure_says(made, benchmark):
    for run in made.on(benchmark):
        measure = registry.measures.get(run.benchmark.card.measures[0])
        counts = Counter(verdicts(run, measure).values())
        one = estimates(run, measure, by_kind=False)[0]
        assert counts[State.RIGHT] == round(one.value * one.n)
        assert counts[State.TIE] == one.ties
        assert sum(counts.values()) == len(run.benchmark.items)


@pytest.mark.parametrize(
    ("ask", "measure"),
    [
        (Ask.JUDGE, "T1"),
        (Ask.NOUN, "T2-nouns"),
        (Ask.WORD, "T2-content"),
        (Ask.MEND, "T3"),
        (Ask.CAPTION, "accuracy"),
    ],
)
def test_picks_of_foil_add_up_to_its_measures(made, ask, measure):
    for run in made.on("foil"):
        read = reader(run, run.covered)
        asked = [q for item in run.benchmark.items for q in questions(item, frozenset({ask}))]
        counts = Counter(read(question).state for question in asked)
        one = estimates(run, registry.measures.get(measure), by_kind=False)[0]
        assert counts[State.RIGHT] == round(one.value * one.n)
        assert counts[State.TIE] == one.ties


def test_a_constant_model_ties_everywhere(made):
    benchmark = made.on("mcic")[0].benchmark
    (run,) = ta.evaluate(
        "constant", benchmark, made.root / "constant", EvaluateOptions(overwrite=True)
    )
    read = reader(run, run.covered)
    (question,) = questions(benchmark.items[0], asks_of(["accuracy"]))
    assert read(question).state is State.TIE
    assert len(read(question).options) == 5


def test_what_was_not_asked_is_no_failure(made):
    benchmark = made.on("foil")[0].benchmark
    options = EvaluateOptions(measures=("accuracy",), limit=3, overwrite=True)
    run, chooser = ta.evaluate(["chance", "chance-chooser"], benchmark, made.root / "few", options)
    for one in (run, chooser):
        read = reader(one, one.covered)
        inside = next(item for item in benchmark.items if item.id in one.covered)
        outside = next(item for item in benchmark.items if item.id not in one.covered)
        (mend,) = questions(inside, frozenset({Ask.MEND}))
        (choice,) = questions(outside, frozenset({Ask.CAPTION}))
        assert read(mend).state is State.UNASKED
        assert read(choice).state is State.UNASKED
    assert verdicts(run, registry.measures.get("T3")) == {}


def test_auc_judges_no_single_item():
    found = verdict_measure((registry.measures.get("T1-AUC"), registry.measures.get("T1")))
    assert found.name == "T1"
