"""Published figures: every table is whole, and ours stand beside them with what they depart in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart import registry
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput, UnknownName
from tellapart.image_features.store import FeatureSpace
from tellapart.models.trained import TrainedCard, write_card
from tellapart.papers.figures import figures_of, published_table, published_tables, tables_named
from tellapart.papers.table import BenchmarkFacts, OwnFigure, join_table, retrieval_figures
from tellapart.registry import caption_metrics, measures
from tellapart.text.vocabulary import Vocabulary

DIRECTIONS = ("image to text", "text to image")


@pytest.mark.parametrize("name", list(published_tables()))
def test_columns_lead_to_measures_metrics_or_recalls_that_exist(name):
    table = published_table(name)
    assert table.benchmark in registry.importers.names() and table.source and table.paper
    for column in table.columns:
        assert bool(column.measure) + bool(column.metric) + bool(column.recall) == 1
        assert not column.measure or column.measure in measures.names()
        assert not column.metric or column.metric in caption_metrics.names()
        assert not column.recall or column.recall in DIRECTIONS
    assert {row.who for row in table.rows} == {"system", "people", "chance"}
    for row in table.rows:
        assert len(row.values) == len(table.columns)
        assert all(value is None or 0 <= value <= 110 for value in row.values)
        metric = row.system.removeprefix("reference:")
        assert (
            not row.system
            or row.system.removesuffix("-scst") in SYSTEMS
            or (metric != row.system and metric in caption_metrics.names())
        )


SYSTEMS = {
    "showtell", "showatttell", "updown", "convnet-bow", "convnet-bigru", "obj-bigru", "scan-i2t",
    "scan-t2i", "i2c", "c2i", "linm", "ffnn", "vec2seq-ffnn",
    "blind-lstm", "cnn-lstm", "ic-wang", "lstm-norm-i", "hiecoatt",
}  # fmt: skip


def test_the_captioners_of_the_table_can_be_trained():
    rows = published_table("bison-2").rows
    named = {row.system.removesuffix("-scst") for row in rows if row.system}
    assert named <= set(registry.systems.names())


def test_figures_are_the_papers():
    """BISON, Tables 2 and 3; FOIL, Table 2; MCIC, Table 3; BiVLC, Table 3."""
    assert published_table("bison-2").rows[5].values == (34.58, 106.30, 20.01, 26.92, 84.27)
    assert published_table("bison-3").rows[4].values == (54.10, 85.58, 67.50, 92.98, 85.89)
    found = {row.name: value for _, row, value in figures_of("foil", "T1")}
    assert found["HieCoAtt"] == 64.14 and found["people, majority"] == 92.89
    assert {row.name: v for _, row, v in figures_of("mcic", "accuracy")}["FFNN, 256"] == 55.1
    assert {row.name: v for _, row, v in figures_of("bivlc", "Group")}["GNM"] == 57.96


def test_figures_of_one_supercategory_are_not_quoted_as_those_of_all_foils():
    found = {(row.name, value) for _, row, value in figures_of("foil", "T1-foil")}
    assert ("LSTM + norm I", 34.51) in found and ("LSTM + norm I", 2.80) not in found


def test_a_table_that_is_not_known_names_those_that_are():
    with pytest.raises(UnknownName, match="bison-9") as caught:
        tables_named("bison-9")
    assert "bison-2" in caught.value.allowed
    assert [table.name for table in tables_named("bison")] == ["bison-2", "bison-3", "bison-5.1"]


def trained_folder(folder: Path, system: str, task: dict[str, int]) -> Path:
    folder.mkdir(parents=True)
    words = Vocabulary(("a",))
    space = FeatureSpace("some-net", "w", "p", "cells 4x4", 8, 8, 16)
    about = {"images": 9_000, "captions": 45_000, "task": task}
    card = TrainedCard(system, {}, space, words.sha256, "0", about)
    write_card(folder, card, words)
    return folder


def test_trainings_of_one_system_are_averaged_beside_the_published_row(tmp_path):
    table = published_table("bison-3")
    accuracy, recall = table.columns[-1], table.columns[0]
    one, two = (trained_folder(tmp_path / k, "scan-t2i", {}) for k in ("a", "b"))
    figures = [
        OwnFigure(f"trained:{one}", accuracy, 64.0, 734, margin=3.5),
        OwnFigure(f"trained:{two}?device=cpu", accuracy, 66.0, 734, margin=3.4),
        OwnFigure(f"trained:{one}", recall, 20.0, 500),
        OwnFigure("open_clip:x", accuracy, 90.0, 734, margin=2.0),
    ]
    joined = join_table(table, figures)
    names = [(row.name, row.whose) for row in joined.rows]
    at = names.index(("SCAN t2i", "ours"))
    assert names[at - 1] == ("SCAN t2i", "published") and names[-1] == ("open_clip:x", "ours")
    assert joined.rows[at].values == (20.0, None, None, None, 65.0)
    assert joined.rows[at].runs == 2
    assert joined.rows[at].deviations[-1] == pytest.approx(2**0.5)
    text = str(joined)
    assert "65.00 ± 1.41" in text and "54.10" in text
    assert "± their standard deviation: 2 of each, but 1 of open_clip:x" in text
    lines = [next(line for line in text.splitlines() if one in line) for one in ("85.89", "65.00")]
    # A figure with a deviation does not push the others aside.
    assert lines[0].index("85.89") == lines[1].index("65.00 ± 1.41")
    assert "trained on 9,000 images with 45,000 captions; published: 82,783 images, 9.2" in text
    assert "some-net, cells 4x4; published: 36 region vectors" in text
    assert "734 items; published: 54,253" in text and "500 images; published: 1,000" in text
    assert "±3.5" in text and "ours: no t2i R@5, i2t R@1" in text
    assert r"65.00 $\pm$ 1.41" in joined.to_latex()


def test_a_run_of_the_guesser_is_not_taken_for_the_level_of_chance():
    table = published_table("bivlc-3")
    group = next(column for column in table.columns if column.measure == "Group")
    facts = BenchmarkFacts("mine", "240 items", {"Group": 100 / 6}, {"": 51.0})
    joined = join_table(table, [OwnFigure("chance", group, 12.9, 240)], beside=[facts])
    rows = [(row.whose, row.values[2]) for row in joined.rows if row.name == "chance"]
    assert rows == [("chance", 16.67), ("ours, a run", 12.9), ("ours", 100 / 6)]
    assert "text alone" not in {row.name for row in joined.rows}, "no column that it could fill"


def test_the_second_stage_has_its_own_row_and_captions_find_theirs_by_name(tmp_path):
    table = published_table("bison-2")
    folder = trained_folder(tmp_path / "second", "updown", {"samples": 5})
    bleu, accuracy = table.columns[0], table.columns[-1]
    joined = join_table(
        table,
        [
            OwnFigure(f"trained:{folder}", accuracy, 64.0, 734),
            OwnFigure("second", bleu, 12.0, 500),
            OwnFigure("showtell", bleu, 9.0, 500),
        ],
    )
    ours = {row.name: row.values for row in joined.rows if row.whose == "ours"}
    assert ours["UpDown, self-critical"] == (12.0, None, None, None, 64.0)
    assert ours["ShowTell, cross-entropy"] == (9.0, None, None, None, None)
    assert "standard deviation" not in str(joined), "each is of one training"


def test_a_system_stands_in_its_own_table_alone(tmp_path):
    two, three = tables_named("bison")[:2]
    every = {row.system for table in (two, three) for row in table.rows if row.system}
    scan = trained_folder(tmp_path / "scan", "scan-i2t", {})
    for table, count in ((two, 1), (three, 2)):
        figures = [
            OwnFigure(f"trained:{scan}", table.columns[-1], 64.0, 734),
            OwnFigure("own", table.columns[-1], 70.0, 734),
        ]
        rows = join_table(table, figures, every).rows
        assert sum(row.whose == "ours" for row in rows) == count


def test_retrieval_is_read_on_its_largest_collection(tmp_path):
    row = {"direction": "text to image", "captions": 5, "recall": {"1": 0.25, "5": 0.5}}
    rows = [{**row, "images": 100, "recall": {"1": 0.9, "5": 1.0}}, {**row, "images": 500}]
    file = tmp_path / "r.json"
    file.write_text(json.dumps({"model": "m", "rows": rows}))
    found = retrieval_figures(published_table("bison-3"), [file])
    assert [(f.column.head, f.value, f.size) for f in found] == [
        ("t2i R@1", 25.0, 500), ("t2i R@5", 50.0, 500),
    ]  # fmt: skip
    file.write_text("[]")
    with pytest.raises(BadInput, match="not the output of retrieve --json"):
        retrieval_figures(published_table("bison-3"), [file])


@pytest.fixture
def got(benchmarks, tmp_path) -> Benchmark:
    """A benchmark as if it came from BISON's authors."""
    from dataclasses import replace

    built = benchmarks["bison"]
    card = replace(built.card, name="bison", made={"by": "tellapart get bison"})
    save_benchmark(replace(built, card=card), tmp_path / "bison")
    return ta.load_benchmark(tmp_path / "bison")


def test_measure_shows_published_rows_marked_as_such(got, tmp_path):
    ta.evaluate(["storybook", "chance"], got, tmp_path / "runs")
    words = ["measure", str(tmp_path / "runs"), "--compare-with", "published", "--no-guessable"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "* UpDown, cross-entropy" in done.output and "84.04" in done.output
    assert "Table 3; on 54,253 items (" in done.output
    told = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert {"SCAN t2i"} == {r["published"] for r in told if r.get("value") == 0.8589}
    plain = CliRunner().invoke(app, ["measure", str(tmp_path / "runs"), "--no-guessable"])
    assert "UpDown" not in plain.output


def test_a_benchmark_of_ones_own_has_no_published_figures(benchmarks, tmp_path):
    runs = ta.evaluate("chance", benchmarks["bison"], tmp_path / "runs")
    with pytest.raises(BadInput, match="no published figures are known"):
        ta.measure(runs, compare_with="published")
    with pytest.raises(BadInput, match="none of the runs is on the table's benchmark"):
        ta.table("foil-2", runs=runs)


def test_a_benchmark_that_was_built_as_the_papers_is_said_not_to_be_the_papers(
    benchmarks, tmp_path
):
    runs = ta.evaluate("chance", benchmarks["bison"], tmp_path / "runs")
    told = str(ta.table("bison-2", runs=runs))
    assert "built by `tellapart build bison`, not the published ones" in told


def test_ties_of_a_model_that_never_looks_are_halved_beside_others(benchmarks, tmp_path):
    runs = ta.evaluate(["constant", "storybook"], benchmarks["bison"], tmp_path / "runs")
    (table,) = ta.table("bison-3", runs=runs).tables
    values = {row.name: row.values[-1] for row in table.rows if row.whose.startswith("ours")}
    assert values["constant"] == 50.0, "with its ties wrong it would have 0"
    assert values["storybook"] == 100 * ta.measure(runs).value(model="storybook", kind="micro")
    assert "never look, ties halved: constant" in table.notes


def test_the_verb_joins_runs_and_captions(got, world, tmp_path):
    ta.evaluate("storybook", got, tmp_path / "runs")
    results = [
        {"image_id": image, "caption": texts[0]} for image, texts in world.texts_by_image.items()
    ]
    (tmp_path / "storybook.json").write_text(json.dumps(results))
    words = ["table", "bison-2", "--runs", str(tmp_path / "runs"),
             "--captions", str(tmp_path / "storybook.json"), "--references", str(world.root),
             "--metrics", "BLEU-4,CIDEr-D"]  # fmt: skip
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    line = next(one for one in done.output.splitlines() if one.startswith("storybook"))
    assert line.split()[1] == "ours" and line.split()[2] == "100.00"
    assert "ours: no SPICE" in done.output
    assert "published: Hu, Misra, van der Maaten 2019" in done.output
    with pytest.raises(BadInput, match="no references were given"):
        ta.table("bison-2", captions=[tmp_path / "storybook.json"])
    with pytest.raises(BadInput, match="has no caption metrics"):
        ta.table("bison-3", captions=[tmp_path / "storybook.json"], references=world)


def mcic_folder(folder: Path, system: str, task: dict[str, float], **settings: object) -> str:
    trained_folder(folder, system, task)
    card = json.loads((folder / "system.json").read_text())
    (folder / "system.json").write_text(json.dumps({**card, "settings": settings}))
    return f"trained:{folder}"


def test_trainings_stand_in_the_rows_of_their_settings(tmp_path):
    wide = {"width": 256, "hidden": 64, "hidden2": 16}
    models = {
        "narrow": mcic_folder(tmp_path / "n", "ffnn", {}, **{**wide, "width": 64}),
        "wide": mcic_folder(tmp_path / "w", "ffnn", {}, **wide),
        "blind": mcic_folder(tmp_path / "b", "ffnn", {}, **wide, blind=True),
        "four": mcic_folder(tmp_path / "f", "vec2seq-ffnn", {"lambda_gen": 4.0}, **wide),
    }
    models["other"] = models["wide"] + "?images=shuffled"
    large = {"width": 2048, "hidden": 2048, "hidden2": 512}
    models["large"] = mcic_folder(tmp_path / "l", "vec2seq-ffnn", {"lambda_gen": 1.0}, **large)
    every = {"ffnn", "vec2seq-ffnn"}

    def ours(name):
        table = published_table(name)
        figures = [
            OwnFigure(model, table.columns[0], 10.0 * k, 900)
            for k, model in enumerate(models.values(), 1)
        ]
        rows = join_table(table, figures, every, alone={table.columns[1]: 20.5}).rows
        assert rows[-1].name == "text alone" and rows[-1].values[1] == 20.5
        return {(r.name, r.whose): r.values[0] for r in rows if r.whose.startswith("ours")}

    three = ours("mcic-3")
    assert list(three)[:2] == [("FFNN, 256", "ours, width 64"), ("FFNN, 256", "ours, width 256")]
    assert three == {
        ("FFNN, 256", "ours, width 64"): 10.0,
        ("FFNN, 256", "ours, width 256"): 20.0,
        ("FFNN, 256", "ours, width 256, blind"): 30.0,
        ("FFNN, 256", "ours, width 256, images shuffled"): 50.0,
        ("Vec2seq+FFNN, 2,048", "ours, width 2048"): 60.0,
    }
    assert ours("mcic-4")["FFNN, 64, 64, 16", "ours"] == 10.0
    assert ours("mcic-5") == {
        ("lambda_gen 1", "ours, width 2048"): 60.0,
        ("lambda_gen 4", "ours, width 256"): 40.0,
    }


def test_runs_stand_in_the_column_of_the_way_their_benchmark_was_built(
    benchmarks, tmp_path, monkeypatch
):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    fair = benchmarks["mcic"]
    assert fair.card.made["by"] == "tellapart build mcic"
    ta.evaluate("oracle", fair, tmp_path / "fair")
    done = ta.table("mcic-3", runs=[tmp_path / "fair"]).tables[0]
    assert next(row.values for row in done.rows if row.name == "oracle") == (None, 100.0)
    assert next(row.values for row in done.rows if row.name == "Baseline-LinM") == (44.5, None)
    with pytest.raises(BadInput, match="none of the runs is on the table's benchmark"):
        ta.table("bison-3", runs=[tmp_path / "fair"])


def test_mcic_figures_are_the_papers():
    four = {row.name: row.values[0] for row in published_table("mcic-4").rows}
    assert four["FFNN, 512, 512, 128"] == 52.5 and four["Vec2seq+FFNN, 64, 64, 16"] == 54.0
    five = {row.name: row.values for row in published_table("mcic-5").rows}
    assert five["lambda_gen 4"] == (60.9, None, 52.4, 93.8)
    assert five["lambda_gen 0"] == (50.7, None, None, None)
    beside = {table.name for table, _, _ in figures_of("mcic", "accuracy")}
    assert beside == {"mcic-3"}
