"""What comparisons and scores say, letter by letter, at the edges of every rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tellapart.measures.comparison import ComparedPair, Comparison, corrected
from tellapart.measures.scores import Estimate, Scores, side_by_side
from tellapart.stats.power import detectable, needed

PAIR = ComparedPair(
    benchmark="bench", measure="accuracy", kind="micro", first="one", second="other",
    tie_rule="wrong", first_value=0.625, second_value=0.5, difference=0.125, low=-0.0123,
    high=0.25, p=0.0312, p_holm=0.04, naive_p=0.00004, error=0.06, won=1_200, lost=1_000,
    level=300, n=2_500, clusters=1_250, differing=900, only_first=1_001, only_second=2,
    first_ties=3, second_ties=4_000, ties_behind=0, first_failed=5, second_failed=6_000,
    test="signs", naive_test="McNemar", method="bootstrap", needed_units=3_100,
    needed_clusters=1_550, detectable=0.14,
)  # fmt: skip
LEGEND = (
    "* p < 0.05, ** p < 0.01, *** p < 0.001 (p with Holm's correction for all pairs); ~ not "
    "distinguishable from noise at 5%."
)


def test_a_comparison_prints_every_number_of_a_pair():
    lines = str(Comparison((PAIR,), ("only a part is covered",))).splitlines()
    assert lines[0] == "bench, accuracy, micro (ties: wrong)"
    told = [" ".join(line.split()) for line in lines]
    assert told[1] == (
        "A B A % B % A - B 95% interval p p (Holm) naive p won-lost-level units (groups) "
        "only A, B ties A, B failed A, B"
    )
    assert told[2] == (
        "one other 62.50 50.00 +12.50 -1.23 to +25.00 * 0.0312 0.0400 <0.0001 1,200-1,000-300 "
        "2,500 (1,250) 1,001, 2 3, 4,000 5, 6,000"
    )
    assert lines[3] == "  one is better than other by 12.50 points"
    assert LEGEND in lines
    assert lines[-4:] == ["test: signs; naive: McNemar", "interval: bootstrap", "",
                          "note: only a part is covered"]  # fmt: skip
    assert "note" not in str(Comparison((PAIR,)))


def test_pairs_of_one_benchmark_measure_and_kind_share_a_table():
    line = replace(PAIR, second="blind", against_line=True)
    fitted = replace(PAIR, measure="T1", decided_by="fitted")
    text = str(Comparison((PAIR, replace(PAIR, second="third"), line, fitted)))
    heads = [one for one in text.splitlines() if "(ties: " in one]
    assert heads == [
        "bench, accuracy, micro (ties: wrong)",
        "bench, accuracy, micro (ties: wrong), against models that never look, their ties halved",
        "bench, T1@fitted, micro (ties: wrong)",
    ]
    assert text.count("test: signs") == text.count("interval: bootstrap") == 1


@pytest.mark.parametrize(
    ("p", "mark"),
    [(0.0009, "***"), (0.001, "**"), (0.0099, "**"), (0.01, "*"), (0.0499, "*"), (0.05, "~")],
)
def test_a_mark_begins_below_its_level(p, mark):
    assert replace(PAIR, p_holm=p).mark == mark
    assert replace(PAIR, p_holm=p).real == (mark != "~")


@pytest.mark.parametrize(("p", "shown"), [(0.00005, "0.0001"), (0.000049, "<0.0001"), (1, "1.00")])
def test_a_very_small_p_is_not_called_zero(p, shown):
    assert f" {shown}" in str(Comparison((replace(PAIR, p=p),)))


NOISE = "one and other: no difference beyond noise is shown"


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"difference": -0.125}, "other is better than one by 12.50 points"),
        ({"against_line": True}, "one is 12.50 points above other"),
        ({"against_line": True, "difference": -0.125}, "one is 12.50 points below other"),
        ({"ties_behind": 1_100},
         "one is better than other by 12.50 points; 1,100 of the 2,200 units that differ rest on "
         "a tie"),
        ({"p_holm": 0.05},
         f"{NOISE}; a difference of 12.50 points needs about 3,100 units in 1,550 groups, and "
         "there are 2,500 in 1,250"),
        ({"p_holm": 1, "won": 0, "lost": 0}, f"{NOISE}: they are the same on every unit"),
        ({"p_holm": 1, "won": 0, "lost": 1, "difference": 0.0},
         f"{NOISE}: their averages are equal"),
        ({"p_holm": 1, "won": 1, "lost": 0, "difference": 1e-10},
         f"{NOISE}: their averages are equal"),
        ({"p_holm": 1, "differing": 5},
         f"{NOISE}: they differ in only 5 groups, too few for any test"),
        ({"p_holm": 1, "needed_units": None, "differing": 40},
         f"{NOISE}: they differ in only 40 groups, too few for any test"),
        ({"p_holm": 1, "differing": 6, "against_line": True, "difference": -0.02},
         f"{NOISE}; a difference of 2.00 points needs about 3,100 units in 1,550 groups, and "
         "there are 2,500 in 1,250"),
    ],
)  # fmt: skip
def test_a_verdict_says_what_is_shown_and_why_not(changes, verdict):
    assert replace(PAIR, **changes).verdict == verdict


@pytest.mark.parametrize(
    ("by_kind", "said"),
    [
        ({}, ""),
        ({"a": 0.1, "b": 0.1004}, ""),
        ({"a": 0.1, "b": 0.1006}, " (A - B by kind: from +10.0 on a to +10.1 on b)"),
        ({"a": 0.2, "b": -0.05, "c": 0.0}, " (A - B by kind: from -5.0 on b to +20.0 on a)"),
    ],
)
def test_the_range_over_kinds_is_told_where_there_is_one(by_kind, said):
    text = str(Comparison((replace(PAIR, by_kind=by_kind),)))
    assert f"  one is better than other by 12.50 points{said}\n" in text


def test_a_row_of_latex_letter_by_letter():
    def row(pair: ComparedPair) -> str:
        return Comparison((pair,)).to_latex().splitlines()[5]

    assert row(PAIR) == (
        r"bench & accuracy & micro & one & other & 62.50 & 50.00 & $+12.50^{*}$ & "
        r"$[-1.23, +25.00]$ & 0.0400 & 2,500 & 1,250 & -- \\"
    )
    unsure = replace(PAIR, p_holm=0.05)
    assert row(unsure).endswith(r"$+12.50^{\sim}$ & $[-1.23, +25.00]$ & 0.0500 & 2,500 & 1,250 & "
                                r"3,100 \\")  # fmt: skip
    assert row(replace(unsure, needed_units=None)).endswith(r"1,250 & -- \\")
    assert "$<$0.0001" in row(replace(PAIR, p_holm=0.00001))
    whole = Comparison((PAIR,)).to_latex()
    assert "\n% The naive p treats" in whole and f"\n% {LEGEND}\n" in whole


def test_pairs_are_corrected_and_what_they_need_is_for_the_strictest_step():
    pairs = [replace(PAIR, p=p, error=0.06) for p in (0.02, 0.01, 0.9)]
    found = corrected([*pairs, replace(PAIR, p=0.9, error=None), replace(PAIR, error=0.0, p=1.0)])
    assert [pair.p_holm for pair in found] == pytest.approx([0.08, 0.05, 1, 1, 1])
    alpha = 0.05 / 5
    size = needed(0.125, 0.06, 2_500, 1_250, alpha=alpha)
    assert (found[0].needed_units, found[0].needed_clusters) == (size.units, size.clusters)
    assert found[0].detectable == detectable(0.06, alpha=alpha)
    assert found[3].detectable == PAIR.detectable, "without an error nothing is reckoned"
    (level,) = corrected([replace(PAIR, difference=1e-12, needed_units=None)])
    assert level.needed_units is None and level.detectable == detectable(0.06, alpha=0.05)
    assert corrected([]) == []


def test_a_comparison_counts_its_pairs_and_goes_through_them():
    found = Comparison((PAIR, replace(PAIR, kind="macro")))
    assert len(found) == 2 and [pair.kind for pair in found] == ["micro", "macro"]
    assert repr(found) == "<Comparison: 2 pairs of runs>"
    assert "accuracy" in found._repr_html_()
    assert found.only(kind="macro", first="one").pairs == found.pairs[1:]
    frame = Comparison((replace(PAIR, by_kind={"a": 0.5}), PAIR)).to_frame()
    assert frame["by_kind"].to_list() == [[{"kind": "a", "difference": 0.5}], []]
    assert frame["mark"].to_list() == ["*", "*"]
    data = found.to_json()
    assert data["pairs"][0]["verdict"] == PAIR.verdict and data["remarks"] == []


ROW = Estimate(
    "bench", "model", "accuracy", "micro", 0.625, 0.4567, 0.789, 1 / 3, 1_200, 10, 3, 1_004,
    "wrong", "t",
)  # fmt: skip


def test_scores_print_every_number_of_a_row():
    few = replace(ROW, model="chance?seed=0", clusters=9, measure="T1", decided_by="own")
    none = replace(ROW, n=0, clusters=0, ties=5)
    lines = Scores((ROW, few, none)).to_text().splitlines()
    assert (
        lines[0].split()
        == ("benchmark measure kind model score 95% interval chance ties failed n groups").split()
    )
    assert [" ".join(line.split()) for line in lines[1:4]] == [
        "bench accuracy micro model 62.50 45.7 - 78.9 33.33 3 1,004 1,200 10",
        "bench T1@own micro - chance?seed=0 62.50 45.7 - 78.9* 33.33 3 1,004 1,200 9",
        "bench accuracy micro model - - - 5 1,004 0 0",
    ]
    assert lines[-1].startswith("* too few groups: 1 of these intervals are based on fewer than 10")
    assert len(Scores((ROW,)).to_text().splitlines()) == 2


def test_a_column_of_guesses_stands_last():
    scores = Scores((ROW, replace(ROW, kind="swap", by="family")))
    text = scores.to_text({("bench", "accuracy", "swap"): "60.0 by length"}).splitlines()
    assert text[0].endswith("groups  guessable without looking")
    assert text[1].rstrip().endswith("10") and text[2].endswith("60.0 by length")
    assert " family " in Scores((replace(ROW, by="family"),)).to_text().splitlines()[0]


def test_scores_are_counted_picked_and_shown():
    scores = Scores((ROW, replace(ROW, model="other", value=0.25)))
    assert repr(scores) == "<Scores: 2 estimates of 2 models>"
    assert len(scores) == 2 and [row.value for row in scores] == [0.625, 0.25]
    assert scores.value(model="other", kind="micro") == 0.25
    assert scores.to_frame().height == 2 and "other" in scores._repr_html_()
    assert [row["too_few_groups"] for row in scores.to_json()] == [False, False]
    assert replace(ROW, clusters=9).too_few and not ROW.too_few
    with pytest.raises(ValueError, match="unpack"):
        scores.value(kind="micro")


def test_models_side_by_side_with_ties_halved_and_what_needs_no_look():
    rows = (
        replace(ROW, ties=0),
        replace(ROW, model="tied", value=0.25, ties=7),
        replace(ROW, model="flat", value=0.0, ties=1_200),
        replace(ROW, model="blind", value=0.3, low=0.2, ties=9),
        replace(ROW, model="chance?seed=0", value=0.3, ties=0),
        replace(ROW, measure="consistency", chance=0.5, ties=0),
        replace(ROW, kind="macro", value=0.99),
    )
    halves = {"tied": 0.5, "flat": 0.5, "blind": 0.55, "chance?seed=0": 0.4}
    half = Scores(tuple(
        replace(row, value=halves.get(row.model, row.value), low=0.34 if row.model == "blind"
                else 0.3) for row in rows
    ))  # fmt: skip
    lines = side_by_side(Scores(rows), half).splitlines()
    assert [" ".join(line.split()) for line in lines] == [
        "benchmark measure model tied flat chance without looking",
        "bench accuracy 62.5 25.0 ~50.0 (7 tie) 0.0 ~50.0 (all tie) 33.3 blind 55.0",
        "bench consistency 62.5 - - 50.0 -",
        "",
        "without looking: the best of blind, chance?seed=0 (ties halved); - if none is above "
        "chance",
        "~: the score with ties halved (before it, a tie counts as wrong)",
    ]
    plain = side_by_side(Scores(rows[:1]), Scores(rows[:1])).splitlines()
    assert len(plain) == 2 and plain[1].split()[-2:] == ["33.3", "-"]


@pytest.mark.parametrize(("low", "shown"), [(1 / 3 + 1e-6, "blind 62.5"), (1 / 3, "-")])
def test_a_blind_model_is_above_chance_only_with_its_whole_interval(low, shown):
    rows = (ROW, replace(ROW, model="blind", low=low))
    assert side_by_side(Scores(rows), Scores(rows)).splitlines()[1].rstrip().endswith(shown)
    none = (ROW, replace(ROW, model="blind", low=low, n=0))
    assert side_by_side(Scores(none), Scores(none)).splitlines()[1].rstrip().endswith("-")
