"""What the page says in words: never more than the intervals carry."""

from __future__ import annotations

from tellapart.reports.summary import plain, summarise


def said(*benchmarks):
    summary = summarise(benchmarks)
    opening = plain(" ".join(summary.opening))
    return opening, [plain(" ".join(finding.sentences)) for finding in summary.benchmarks]


def test_one_model_above_chance_and_above_text_only(results_of, an_estimate):
    opening, (text,) = said(results_of({"m": an_estimate(0.8, 0.7, 0.9)}))
    assert opening == "One model, m, was tested on 1 benchmark with 4 items in all."
    assert "m scores 80.0% (95% interval 70.0 to 90.0) on accuracy." in text
    assert "Guessing gets 50.0%, and the whole interval of m lies above that." in text
    assert "A text-only model, which never sees a picture, gets 50.0%" in text
    assert "Next comes" not in text


def test_a_model_whose_interval_holds_chance_may_be_guessing(results_of, an_estimate):
    _, (text,) = said(results_of({"m": an_estimate(0.55, 0.45, 0.65)}))
    assert "lies inside the interval of m: it may be guessing" in text
    assert "not shown to gain anything from looking" in text


def test_a_model_below_chance_is_called_so_with_its_ties(results_of, an_estimate):
    _, (text,) = said(results_of({"m": an_estimate(0.2, 0.1, 0.3, ties=60)}))
    assert "the whole interval of m lies below that (60 ties counted as wrong)" in text
    assert "Many ties, which count as wrong here: m (60 of 100)." in text


def test_intervals_that_overlap_claim_no_winner(results_of, an_estimate):
    models = {"a": an_estimate(0.8, 0.7, 0.9), "b": an_estimate(0.75, 0.65, 0.85)}
    opening, (text,) = said(results_of(models))
    assert opening.startswith("2 models were tested")
    assert "The highest accuracy is that of a: 80.0%" in text
    assert "overlap, so this does not show that a is better" in text
    assert "are apart" not in text


def test_touching_intervals_are_not_apart(results_of, an_estimate):
    models = {"a": an_estimate(0.8, 0.7, 0.9), "b": an_estimate(0.6, 0.5, 0.7)}
    _, (text,) = said(results_of(models))
    assert "overlap" in text


def test_intervals_apart_are_said_to_be_apart(results_of, an_estimate):
    models = {"b": an_estimate(0.6, 0.55, 0.65), "a": an_estimate(0.8, 0.7, 0.9)}
    _, (text,) = said(results_of(models))
    assert (
        "Next comes b with 60.0% (95% interval 55.0 to 65.0); the two intervals are apart." in text
    )


def test_equal_models_share_the_first_place(results_of, an_estimate):
    same = an_estimate(0.8, 0.7, 0.9)
    _, (two,) = said(results_of({"a": same, "b": same}))
    assert "a and b all score 80.0% on accuracy." in two
    _, (three,) = said(results_of({"a": same, "c": an_estimate(0.1, 0.05, 0.2), "b": same}))
    assert "a and b share the highest accuracy, 80.0%." in three
    assert "Next comes c" in three
    assert "better" not in three


def test_leads_count_only_what_is_apart(results_of, an_estimate):
    high, low = an_estimate(0.8, 0.75, 0.85), an_estimate(0.6, 0.55, 0.65)
    near = an_estimate(0.78, 0.7, 0.84)
    clear = results_of({"a": high, "b": low})
    unclear = results_of({"a": high, "b": near}, name="c")
    opening, _ = said(clear, unclear)
    assert (
        "a has the highest main score on 2 of 2 benchmarks, but with its interval apart from"
        in opening
    )
    assert "only on 1 of them" in opening
    opening, _ = said(unclear, unclear)
    assert "but its interval overlaps with the next model's each time" in opening
    opening, _ = said(clear, clear)
    assert "with its interval apart from the next model's each time" in opening


def test_runs_on_other_items_are_not_called_comparable(results_of, an_estimate):
    models = {"a": an_estimate(0.8, 0.75, 0.85), "b": an_estimate(0.6, 0.55, 0.65)}
    _, (text,) = said(results_of(models, covered={"b": 2}))
    assert "They were not run on the same items" in text
    assert "Run on a part of the items only: b (2 of 4)." in text


def test_missing_answers_are_counted(results_of, an_estimate):
    _, (text,) = said(results_of({"a": an_estimate(0.8, 0.75, 0.85, failed=3)}))
    assert "Answers that are missing count as wrong: a (3)." in text


def test_text_only_alone_is_no_comparison(results_of):
    opening, (text,) = said(results_of({}))
    assert "Only the text-only model was run" in opening
    assert "50.0%" in text


def test_a_text_only_model_that_is_better_is_named(results_of, an_estimate):
    blind = an_estimate(0.9, 0.85, 0.95, tie_rule="half")
    _, (text,) = said(results_of({"m": an_estimate(0.6, 0.55, 0.65)}, blind))
    assert (
        "gets 90.0% (95% interval 85.0 to 95.0); the whole interval of m lies below that." in text
    )
