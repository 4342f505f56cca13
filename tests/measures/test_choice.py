"""Hand-computed grids for every measure of choice and every rule for ties."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import benchmark_of, choices_of, grid_item, run_of

from tellapart import registry
from tellapart.errors import BadInput
from tellapart.measures.scores import estimates
from tellapart.questions import Ask, questions
from tellapart.verbs.runs.measure import measure

BIVLC = ("Group", "I2T", "T2I", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
PAIR = {(0, 0), (1, 1)}


def scores_of(grid: list[list[float]], rule: str, true: set[tuple[int, int]] = PAIR) -> dict:
    item = grid_item("x", 2, 2, true, original=min(true))
    run = run_of(benchmark_of([item], BIVLC), {"x": grid})
    return {row.measure: row.value for row in measure(run, ties=rule).rows}


def test_a_right_grid_is_right_everywhere():
    assert set(scores_of([[3, 1], [0, 2]], "wrong").values()) == {1.0}


def test_each_comparison_reads_its_own_cells():
    # image 0 prefers its caption (3 > 1), image 1 does not (2 < 4);
    # caption 0 prefers the other image (3 < 4), caption 1 its own (2 > 1).
    got = scores_of([[3, 1], [4, 2]], "wrong")
    assert got == {
        "Group": 0, "I2T": 0, "T2I": 0, "Ipos2T": 1, "Ineg2T": 0, "Tpos2I": 0, "Tneg2I": 1,
    }  # fmt: skip


def test_truth_on_the_other_diagonal_is_read_from_the_item():
    got = scores_of([[1, 3], [2, 0]], "wrong", {(0, 1), (1, 0)})
    assert set(got.values()) == {1.0}


def test_on_the_other_diagonal_the_original_caption_is_not_the_first():
    # image 0 takes the wrong one (3 > 1), image 1 its own (4 > 2); caption 1, which is the
    # original's, takes the wrong one (1 < 2), caption 0 its own (3 < 4)
    got = scores_of([[3, 1], [4, 2]], "wrong", {(0, 1), (1, 0)})
    assert got == {
        "Group": 0, "I2T": 0, "T2I": 0, "Ipos2T": 0, "Ineg2T": 1, "Tpos2I": 0, "Tneg2I": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("wrong", dict.fromkeys(BIVLC, 0.0)),
        ("right", dict.fromkeys(BIVLC, 1.0)),
        # all four cells tie: the two true ones must come out on top of the two false ones
        # (2! 2! / 4! = 1/6); two independent comparisons 1/4; one 1/2
        ("half", {"Group": 1 / 6, "I2T": 1 / 4, "T2I": 1 / 4} | dict.fromkeys(BIVLC[3:], 1 / 2)),
    ],
)
def test_pitfall_2_a_constant_grid_under_each_rule(rule, expected):
    assert scores_of([[5, 5], [5, 5]], rule) == pytest.approx(expected)


def test_pitfall_2_dropped_ties_leave_no_unit_but_are_counted():
    run = run_of(
        benchmark_of([grid_item("x", 2, 2, PAIR, original=(0, 0))], BIVLC), {"x": [[5, 5], [5, 5]]}
    )
    scores = measure(run, ties="drop")
    for row in scores.rows:
        assert (row.n, row.ties) == (0, 1)
    assert "0.00" not in str(scores)  # no unit, no score


def test_one_tie_in_a_group_counts_half_and_a_tie_beside_an_error_does_not_count():
    # image 0 ties, everything else is right
    assert scores_of([[3, 3], [0, 4]], "half")["Group"] == pytest.approx(1 / 2)
    # image 0 ties and image 1 is wrong: the tie decides nothing
    item = grid_item("x", 2, 2, PAIR, original=(0, 0))
    run = run_of(benchmark_of([item], BIVLC), {"x": [[3, 3], [5, 4]]})
    (row,) = measure(run, measures=["I2T"], ties="half").rows
    assert (row.value, row.ties) == (0.0, 0)


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (1, 2)])
@pytest.mark.parametrize("kind", ["scorer", "chooser"])
def test_items_with_more_or_fewer_images_or_captions_are_no_group(kind, shape):
    images, captions = shape
    items = [grid_item("x", 2, 2, PAIR), grid_item("y", images, captions, {(0, 0)})]
    benchmark = benchmark_of(items, ("Group",))
    if kind == "scorer":
        wrong = [[0.0, 1.0, 1.0][:captions]] * images
        run = run_of(benchmark, {"x": [[1.0, 0.0], [0.0, 1.0]], "y": wrong})
    else:
        right = [("x", f"{side}@{k}", k) for side in ("caption", "image") for k in (0, 1)]
        asked = [f"caption@{k}" for k in range(images)] + [f"image@{k}" for k in range(captions)]
        run = choices_of(benchmark, [*right, *(("y", name, 1) for name in asked)])
    (row,) = measure(run, measures=["Group"]).rows
    assert (row.n, row.value) == (1, 1.0)


def test_ties_that_share_a_cell_are_broken_together():
    # s00 ties with s01 (image 0) and with s10 (caption 0); s11 is above both.
    # Right needs s00 to come first of the three tied cells: 1/3, not 1/2 * 1/2.
    assert scores_of([[3, 3], [3, 4]], "half")["Group"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("shape", "grid", "right"),
    [
        ((2, 1), [[0.2], [0.7]], {"wrong": 0, "half": 0, "right": 0}),
        ((2, 1), [[0.7], [0.7]], {"wrong": 0, "half": 0.5, "right": 1}),
        ((1, 5), [[4, 4, 1, 4, 0]], {"wrong": 0, "half": 1 / 3, "right": 1}),
        ((1, 5), [[4, 3, 1, 3, 0]], {"wrong": 1, "half": 1, "right": 1}),
        ((1, 2), [[1, 2]], {"wrong": 0, "half": 0, "right": 0}),
    ],
)
def test_accuracy_of_single_choices(shape, grid, right):
    benchmark = benchmark_of([grid_item("x", *shape, {(0, 0)})])
    for rule, value in right.items():
        assert measure(run_of(benchmark, {"x": grid}), ties=rule).rows[0].value == pytest.approx(
            value
        )


def test_a_question_without_a_wrong_option_is_not_asked():
    # caption 0 is true of both images: asking for its image makes no sense
    item = grid_item("x", 2, 2, {(0, 0), (1, 0), (1, 1)})
    asked = [q.id for q in questions(item, frozenset({Ask.CAPTION, Ask.IMAGE}))]
    assert asked == ["caption@0", "image@1"]


def test_pitfall_23_a_missing_cell_is_a_failure_that_counts_as_wrong_and_stays_in():
    benchmark = benchmark_of([grid_item("x", 2, 1, {(0, 0)}), grid_item("y", 2, 1, {(0, 0)})])
    run = run_of(benchmark, {"x": [[2], [1]], "y": [[2]]})
    (row,) = measure(run, ties="right").rows
    assert (row.value, row.n, row.failed, row.ties) == (0.5, 2, 1, 0)


def test_items_that_the_run_does_not_cover_are_not_counted():
    benchmark = benchmark_of([grid_item("x", 2, 1, {(0, 0)}), grid_item("y", 2, 1, {(0, 0)})])
    (row,) = measure(run_of(benchmark, {"x": [[2], [1]]})).rows
    assert (row.value, row.n) == (1.0, 1)


def test_pitfall_15_micro_weighs_items_and_macro_weighs_kinds():
    items = [grid_item(f"a{k}", 2, 1, {(0, 0)}, kind="swap-object") for k in range(3)]
    items.append(grid_item("b", 2, 1, {(0, 0)}, kind="add-object"))
    run = run_of(benchmark_of(items), {f"a{k}": [[2], [1]] for k in range(3)} | {"b": [[1], [2]]})
    got = {row.kind: row.value for row in measure(run, by_kind=True).rows}
    assert got == {"micro": 0.75, "macro": 0.5, "swap-object": 1.0, "add-object": 0.0}


def test_chance_depends_on_the_kind_of_model():
    item = grid_item("x", 2, 2, PAIR, original=(0, 0))
    benchmark = benchmark_of([item], BIVLC)
    scorer = {r.measure: r.chance for r in measure(run_of(benchmark, {"x": [[1, 0], [0, 1]]})).rows}
    answers = [
        ("x", "caption@0", 0),
        ("x", "caption@1", 1),
        ("x", "image@0", 0),
        ("x", "image@1", 0),
    ]
    rows = measure(choices_of(benchmark, answers)).rows
    chooser = {r.measure: r.chance for r in rows}
    assert scorer["Group"] == pytest.approx(1 / 6)
    assert chooser["Group"] == pytest.approx(1 / 16)
    assert scorer["I2T"] == chooser["I2T"] == pytest.approx(1 / 4)
    assert {r.measure: r.value for r in rows} == {
        "Group": 0, "I2T": 1, "T2I": 0, "Ipos2T": 1, "Ineg2T": 1, "Tpos2I": 1, "Tneg2I": 0,
    }  # fmt: skip


def slow_expectation(grid: np.ndarray, item, asks: frozenset[Ask], rule: str) -> float:
    """The definition, word by word: every order of the cells that the scores allow."""
    cells = [(i, j) for i in range(grid.shape[0]) for j in range(grid.shape[1])]
    rights = []
    for order in permutations(range(len(cells))):
        rank = dict(zip(cells, order, strict=True))
        right = True
        for question in questions(item, asks):
            if question.ask is Ask.CAPTION:
                options = [(question.image, int(j)) for j in question.options]
            else:
                options = [(int(i), question.caption) for i in question.options]
            best = max(options, key=lambda cell: (grid[cell], rank[cell]))
            right &= options.index(best) in question.right
        rights.append(right)
    return {"half": np.mean(rights), "wrong": float(all(rights)), "right": float(any(rights))}[rule]


SHAPES = [
    (2, 2, frozenset(PAIR)),
    (2, 2, frozenset({(0, 1), (1, 0)})),
    (2, 2, frozenset({(0, 0), (1, 0), (1, 1)})),
    (1, 5, frozenset({(0, 3)})),
    (2, 1, frozenset({(1, 0)})),
    (2, 3, frozenset({(0, 0), (1, 1), (1, 2)})),
]


@given(
    shape=st.sampled_from(SHAPES),
    values=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    rule=st.sampled_from(["wrong", "half", "right"]),
)
def test_fast_measures_agree_with_the_slow_definition(shape, values, rule):
    images, captions, true = shape
    grid = np.array(values[: images * captions], dtype=float).reshape(images, captions)
    item = grid_item("x", images, captions, set(true))
    group = registry.measures.get("Group")
    joint = type(group)("joint", "", group.asks, "", together=True)
    run = run_of(benchmark_of([item]), {"x": grid.tolist()})
    (row,) = estimates(run, joint, rule)
    assert row.value == pytest.approx(slow_expectation(grid, item, joint.asks, rule))


@given(values=st.lists(st.integers(0, 3), min_size=5, max_size=5), order=st.permutations(range(5)))
def test_permuting_the_captions_changes_no_score(values, order):
    plain = grid_item("x", 1, 5, {(0, 2)})
    moved = grid_item("x", 1, 5, {(0, order.index(2))})
    for rule in ("wrong", "half", "right"):
        one = measure(run_of(benchmark_of([plain]), {"x": [values]}), ties=rule).rows[0].value
        grid = [[values[k] for k in order]]
        other = measure(run_of(benchmark_of([moved]), {"x": grid}), ties=rule).rows[0].value
        assert one == other


def shared(n: int, per_image: int, right: list[int]):
    """Items of two images and a caption, several in a row on the same ones; 1 is right."""
    images = [[f"a{k // per_image}", f"b{k // per_image}"] for k in range(n)]
    items = [grid_item(str(k), 2, 1, {(0, 0)}, image_ids=images[k]) for k in range(n)]
    return run_of(benchmark_of(items), {str(k): [[right[k]], [0.5]] for k in range(n)})


def test_pitfall_16_an_interval_stands_on_groups_not_on_items():
    right = [int(k // 6 % 3 > 0) for k in range(180)]  # whole groups are right or wrong
    (alone,) = measure(shared(180, 1, right)).rows
    (grouped,) = measure(shared(180, 6, right)).rows
    assert (alone.value, alone.n) == (grouped.value, grouped.n) == (2 / 3, 180)
    assert (alone.clusters, grouped.clusters) == (180, 30)
    # six items that hang together are one observation: the interval is sqrt(6) times as wide
    wider = (grouped.high - grouped.low) / (alone.high - alone.low)
    assert wider == pytest.approx(6**0.5, rel=0.1)


def test_too_few_groups_are_said_to_be_too_few():
    few = measure(shared(12, 4, [1, 1, 1, 0] * 3))
    assert few.rows[0].clusters == 3 and few.rows[0].too_few
    assert "too few groups" in str(few) and "fewer than 10" in str(few)
    assert few.to_json()[0]["too_few_groups"] is True
    many = measure(shared(48, 4, [1, 1, 1, 0] * 12))
    assert not many.rows[0].too_few and "too few" not in str(many)


def test_measures_that_fit_no_run_are_an_error_and_not_an_empty_table():
    run = run_of(benchmark_of([grid_item("x", 1, 2, {(0, 0)})], ("accuracy",)), {"x": [[2, 1]]})
    assert [row.measure for row in measure(run, measures=["accuracy", "T2I"]).rows] == ["accuracy"]
    with pytest.raises(BadInput, match=r"Group, T2I: these .*\n.*allowed: .*own: accuracy"):
        measure(run, measures=["Group", "T2I"])
