"""The tables: best values, chance levels, the text-only row."""

from __future__ import annotations

from tests.measures.test_overview import bench, run

import tellapart as ta
from tellapart.reports.results import StepCounter, measure_runs, overview
from tellapart.reports.score_tables import RowKind, kinds_tables, measures_table, to_latex
from tellapart.reports.summary import summarise
from tellapart.types import silent
from tellapart.verbs.runs.evaluate import EvaluateOptions
from tellapart.verbs.runs.measure import measure


def measured(runs):
    return measure_runs(runs, "wrong", False, StepCounter(0, silent))


def test_the_text_only_row_is_computed_with_ties_halved(made):
    (results,) = measured(made.on("bison"))
    assert results.computed
    row = next(row for row in measures_table(results).rows if row.kind is RowKind.TEXT_ONLY)
    assert row.label == "blind"
    assert row.cells[0].value == "50.0"  # one caption for both pictures: all ties, halved
    assert row.cells[0].ties == len(made.on("bison")[0].benchmark.items) > 0


def test_a_run_of_blind_is_the_text_only_row_and_no_model(made):
    benchmark = made.on("mcic")[0].benchmark
    blind = ta.evaluate("blind", benchmark, made.root / "blind", EvaluateOptions(overwrite=True))
    (given,) = measured([*made.on("mcic"), *blind])
    (computed,) = measured(made.on("mcic"))
    assert not given.computed
    assert [entry.label for entry in given.entries] == [entry.label for entry in computed.entries]
    assert measures_table(given) == measures_table(computed)


def test_numbers_are_those_of_measure(made):
    (results,) = measured(made.on("foil"))
    table = measures_table(results)
    scores = measure(made.on("foil"))
    for row in table.rows[:3]:
        for column, cell in zip(table.columns, row.cells, strict=True):
            found = scores.only(model=row.label, measure=column.label, kind="micro").rows
            assert (cell is None) == (not found)
            if cell is not None:
                assert cell.value == f"{100 * found[0].value:.1f}"
                assert (cell.ties, cell.failed, cell.n) == (
                    found[0].ties,
                    found[0].failed,
                    found[0].n,
                )


def test_the_best_model_of_each_column_is_marked_and_nothing_else(made):
    (results,) = measured(made.on("bivlc"))
    for table in (measures_table(results), *kinds_tables(results)):
        for k in range(len(table.columns)):
            cells = [row.cells[k] for row in table.rows if row.kind is RowKind.MODEL]
            top = max(float(cell.value) for cell in cells)
            assert all(float(cell.value) == top for cell in cells if cell.best)
            assert any(cell.best for cell in cells)
        assert not any(
            cell.best for row in table.rows if row.kind is not RowKind.MODEL for cell in row.cells
        )


def test_scorers_and_choosers_have_their_own_chance_where_it_differs(made):
    (bivlc,), (bison,) = measured(made.on("bivlc")), measured(made.on("bison"))
    rows = {row.label: row for row in measures_table(bivlc).rows if row.kind is RowKind.CHANCE}
    assert rows["chance for scorers"].cells[0].value == "16.7"
    assert rows["chance for choosers"].cells[0].value == "6.2"
    (alone,) = [row for row in measures_table(bison).rows if row.kind is RowKind.CHANCE]
    assert (alone.label, alone.cells[0].value) == ("chance", "50.0")


def test_by_kind_has_micro_and_macro_first(made):
    (results,) = measured(made.on("bivlc"))
    tables = kinds_tables(results)
    assert [table.name for table in tables][:2] == ["bivlc-Group-by-kind", "bivlc-I2T-by-kind"]
    assert [column.label for column in tables[0].columns] == ["micro", "macro", *results.kinds]
    assert kinds_tables(measured(made.on("bison"))[0]) == []


def test_a_model_that_was_run_twice_keeps_both_rows(made):
    runs = made.on("bison")[:1] * 2
    (results,) = measured(runs)
    assert [e.label for e in results.entries] == [f"oracle?error=0.2 (run {k})" for k in (1, 2)]


def test_t1_says_whose_threshold_decided(made):
    by_name = {run.model: run for run in made.on("foil")}
    (fitted,) = measured([by_name["random"]])
    heads = [column.label for column in measures_table(fitted).columns]
    assert heads[:3] == ["T1@fitted", "T1-correct@fitted", "T1-foil@fitted"]
    assert "T1@fitted by kind" in kinds_tables(fitted)[0].title
    (mixed,) = measured(list(by_name.values()))
    table = measures_table(mixed)
    ways = {row.label: cell.way for row in table.rows if (cell := row.cells[0])}
    assert table.columns[0].label == "T1"
    assert (ways["oracle?error=0.2"], ways["random"], ways["blind"]) == (
        "@own",
        "@fitted",
        "@fitted",
    )
    assert "@own" in to_latex(table)
    sentences = summarise([mixed], overview([mixed])).benchmarks[0].sentences
    assert any("The models decide T1 in different ways" in one for one in sentences)


def test_a_pair_is_called_as_in_all_other_tables():
    """Twice on one benchmark, the model has another name on the second, where it is once."""
    one, two = bench("one"), bench("two")
    runs = [run(one, "m", 9), run(one, "m", 8), run(two, "m", 7), run(two, "n", 6)]
    results = measured(runs)[1]
    assert [entry.label for entry in results.entries] == ["m (run 1)", "n"]
    assert [(pair.first, pair.second) for pair in results.pairs] == [("m (run 1)", "n")]
