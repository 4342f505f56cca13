"""What the page says in words: never more than the tests and the lines carry."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tellapart.measures.comparison import ComparedPair
from tellapart.measures.overview import TEXT_ALONE, ReferenceLine, overview_of
from tellapart.reports.results import overview
from tellapart.reports.summary import plain, summarise


def said(*benchmarks, lines=()):
    table = overview(benchmarks)
    summary = summarise(benchmarks, overview_of(table.rows, [*table.lines, *lines]))
    sentences = [plain(" ".join(finding.sentences)) for finding in summary.benchmarks]
    return plain(summary.opening), sentences


def pair(first: str, second: str, difference: float, p: float, **more: int) -> ComparedPair:
    counts = {"won": 30, "lost": 10, "level": 60, "n": 100, "clusters": 100, "differing": 40,
              "only_first": 0, "only_second": 0, "first_ties": 0, "second_ties": 0,
              "ties_behind": 0, "first_failed": 0, "second_failed": 0} | more  # fmt: skip
    return ComparedPair(
        "b", "accuracy", "micro", first, second, "wrong", 0.8, 0.8 - difference, difference,
        difference - 0.05, difference + 0.05, p, p, p, 0.02, test="t", naive_test="n", method="m",
        **counts,
    )  # fmt: skip


def test_one_model_above_chance_and_text_only(results_of, an_estimate):
    opening, (text,) = said(
        results_of({"m": an_estimate(0.8, 0.7, 0.9)}, an_estimate(0.6, 0.55, 0.65))
    )
    assert opening == "One model, m, was tested on 1 benchmark with 4 items in total."
    assert "m scores 80.0% (95% interval 70.0 to 90.0) on accuracy." in text
    assert (
        "Without looking: chance 50.0%, blind 60.0%; the whole interval of m is above these."
        in text
    )
    assert "next is" not in text


def test_benchmarks_that_only_blind_models_ran_on_do_not_count_as_tested(results_of, an_estimate):
    tested = results_of({"m": an_estimate(0.8, 0.7, 0.9)})
    opening, _ = said(tested, results_of({}))
    assert opening == (
        "One model, m, was tested on 1 benchmark with 4 items in total, and only models that never "
        "look on 1 other."
    )
    _, (text,) = said(tested)
    assert "Without looking: chance 50.0%; the whole interval of m is above it." in text


def test_a_model_whose_interval_holds_chance_is_not_shown_to_be_above(results_of, an_estimate):
    _, (text,) = said(results_of({"m": an_estimate(0.55, 0.45, 0.65)}))
    assert "m is not shown to be above chance" in text


def test_a_model_below_what_the_text_alone_gives_is_not_called_above(results_of, an_estimate):
    line = ReferenceLine(TEXT_ALONE, "b", "accuracy", 0.82, 0.80, 0.84, "attacker")
    _, (text,) = said(results_of({"m": an_estimate(0.76, 0.74, 0.78)}), lines=[line])
    assert "text alone 82.0%" in text
    assert "the whole interval of m is below text alone" in text
    assert "is above these" not in text


def test_a_model_below_chance_is_called_so_with_its_ties(results_of, an_estimate):
    _, (text,) = said(results_of({"m": an_estimate(0.2, 0.1, 0.3, ties=60)}))
    assert "the whole interval of m is below chance (60 ties counted as wrong)" in text
    assert "Many ties, which count as wrong here: m (60 of 100)." in text


@pytest.mark.parametrize(
    ("p", "ties", "verdict"),
    [
        (0.2, 0, "The difference of 5.0 points may be noise (p = 0.2000)."),
        (0.00001, 0, "The difference of 5.0 points is real (p < 0.0001)."),
        (
            0.01, 12, "The difference of 5.0 points is real (p = 0.0100; 12 of the 40 units that "
            "differ rest on a tie).",
        ),
    ],
)  # fmt: skip
def test_a_difference_is_told_by_its_test_and_the_ties_it_rests_on(
    results_of, an_estimate, p, ties, verdict
):
    models = {"b": an_estimate(0.75, 0.65, 0.85), "a": an_estimate(0.8, 0.7, 0.9)}
    results = replace(results_of(models), pairs=(pair("b", "a", -0.05, p, ties_behind=ties),))
    _, (text,) = said(results)
    assert "a has the highest accuracy, 80.0%" in text
    assert f"next is b with 75.0%. {verdict}" in text


def test_models_that_share_no_item_are_not_compared(results_of, an_estimate):
    models = {"a": an_estimate(0.8, 0.75, 0.85), "b": an_estimate(0.6, 0.55, 0.65)}
    _, (text,) = said(results_of(models, covered={"b": 2}))
    assert "cannot be compared" in text
    assert "Run on only part of the items: b (2 of 4)." in text
    results = replace(results_of(models, covered={"b": 2}), pairs=(pair("a", "b", 0.2, 0.001),))
    _, (text,) = said(results)
    assert "on the items given to both is real" in text


def test_equal_models_share_the_first_place(results_of, an_estimate):
    same = an_estimate(0.8, 0.7, 0.9)
    _, (two,) = said(results_of({"a": same, "b": same}))
    assert "a and b all score 80.0% on accuracy." in two
    _, (three,) = said(results_of({"a": same, "c": an_estimate(0.1, 0.05, 0.2), "b": same}))
    assert "a and b share the highest accuracy, 80.0%; next is c" in three
    assert "real" not in three


def test_missing_answers_are_counted(results_of, an_estimate):
    _, (text,) = said(results_of({"a": an_estimate(0.8, 0.75, 0.85, failed=3)}))
    assert "Missing answers count as wrong: a (3)." in text


def test_too_few_groups_are_named(results_of, an_estimate):
    _, (text,) = said(results_of({"a": an_estimate(0.8, 0.75, 0.85, clusters=3)}))
    assert "Too few groups: these numbers rest on only 3 groups" in text


def test_lines_alone_are_no_comparison(results_of):
    opening, (text,) = said(results_of({}))
    assert "No model that looks was run" in opening
    assert "50.0%" in text and "highest" not in text
