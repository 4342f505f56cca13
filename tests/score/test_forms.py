"""The other forms in which answers come from elsewhere, against figures computed by hand."""

from __future__ import annotations

import gzip
import json

import polars as pl
import pytest
from tests.conftest import benchmark_of, grid_item
from typer.testing import CliRunner

import tellapart as ta
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput, TellapartError
from tellapart.items import Item, Origin
from tellapart.verbs.runs.measure import measure

BIVLC = ("Group", "I2T", "T2I", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
# caption, negative caption, type, subtype, then right or wrong for the four questions
OUTCOMES = """caption,negative_caption,type,subtype,Ipos2T,Ineg2T,Tpos2I,Tneg2I
A red dog.,A blue dog.,replace,attribute,True,True,True,True
A dog.,A cat.,replace,object,True,False,True,True
A dog and a cat.,A cat and a dog.,swap,object,True,True,False,True
Two cups.,Two big cups.,add,attribute,False,True,False,False
A bus.,A car.,replace,object,True,True,True,True
A kite.,A kite and a ball.,add,object,True,True,True,False
"""
EXPECTED = {  # by hand: both columns of a direction right, and all four
    "Ipos2T": 5 / 6, "Ineg2T": 5 / 6, "Tpos2I": 4 / 6, "Tneg2I": 4 / 6,
    "I2T": 4 / 6, "T2I": 3 / 6, "Group": 2 / 6,
}  # fmt: skip


@pytest.fixture
def bivlc(tmp_path):
    """The benchmark of the table above, with the original pair at changing places."""
    items = []
    for k, line in enumerate(OUTCOMES.splitlines()[1:]):
        caption, negative, kind, subkind, *_ = line.split(",")
        place = k % 2
        items.append(
            Item.imported(
                "test", str(k), images=(f"{k}a", f"{k}b"),
                captions=(caption, negative) if place == 0 else (negative, caption),
                true=frozenset({(0, place), (1, 1 - place)}), original=(0, place),
                kind=f"{kind}-{subkind}", origin=Origin("test"),
            )
        )  # fmt: skip
    return save_benchmark(benchmark_of(items, BIVLC), tmp_path / "bivlc")


def values(run, kind="micro"):
    return {row.measure: row.value for row in measure(run, by_kind=True).rows if row.kind == kind}


def test_outcomes_of_two_by_two_items_give_all_measures(bivlc, tmp_path):
    (tmp_path / "o.csv").write_text(OUTCOMES)
    run = ta.import_scores(bivlc, tmp_path / "o.csv", name="clip", out=tmp_path / "run")
    assert values(run) == pytest.approx(EXPECTED)
    assert values(run, "replace-object") == pytest.approx(
        dict.fromkeys(("Group", "I2T", "Ineg2T"), 1 / 2)
        | dict.fromkeys(("Ipos2T", "T2I", "Tpos2I", "Tneg2I"), 1.0)
    )


OLDER = {"Ipos2T": "text_score_i0", "Ineg2T": "text_score_i1",
         "Tpos2I": "image_score_c0", "Tneg2I": "image_score_c1"}  # fmt: skip


@pytest.mark.parametrize("names", [OLDER, {name: f"{name[:4]}_{name[4:]}" for name in OLDER}])
def test_both_sets_of_names_in_bivlcs_files_are_known_and_spaces_do_not_matter(
    bivlc, tmp_path, names
):
    text = OUTCOMES.replace("A dog.,A cat.", '" A dog. ",A  cat.')
    for ours, theirs in names.items():
        text = text.replace(ours, theirs)
    (tmp_path / "o.csv").write_text(text)
    run = ta.import_scores(bivlc, tmp_path / "o.csv", name="clip", out=tmp_path / "run")
    assert values(run) == pytest.approx(EXPECTED)


def test_items_with_the_same_captions_are_told_apart_by_picture_and_kind(tmp_path):
    def item(name: str, image: str, kind: str) -> Item:
        return Item.imported(
            "test", name, images=(image,), captions=("A dog.", "A cat."),
            true=frozenset({(0, 0)}), original=(0, 0), kind=kind, origin=Origin("test"),
        )  # fmt: skip

    items = [item("a", "1", "swap-object"), item("b", "2", "swap-object"),
             item("c", "2", "swap-attribute")]  # fmt: skip
    head = "filename,caption,negative_caption,type,subtype,correct\n"
    rows = [("000000000002.jpg", "att", 1), ("000000000002.jpg", "obj", 0),
            ("000000000001.jpg", "obj", 1)]  # fmt: skip
    lines = [f"{file},A dog.,A cat.,swap,{sort},{right}" for file, sort, right in rows]
    (tmp_path / "o.csv").write_text(head + "\n".join(lines))
    run = ta.import_scores(benchmark_of(items), tmp_path / "o.csv", name="x", out=tmp_path / "x")
    found = dict(run.answers.select("item", "choice").iter_rows())
    assert found == {"test:a": 0, "test:b": 1, "test:c": 0}


def test_the_chance_level_of_outcomes_is_that_of_who_made_them(bivlc, tmp_path):
    (tmp_path / "o.csv").write_text(OUTCOMES)
    for cells, level in ((True, 1 / 6), (False, 1 / 16)):
        run = ta.import_scores(
            bivlc, tmp_path / "o.csv", name="x", out=tmp_path / str(cells), scored_cells=cells
        )
        assert measure(run, measures=["Group"]).rows[0].chance == pytest.approx(level)


def test_the_command_says_whose_chance_level_outcomes_have(bivlc, tmp_path):
    save_benchmark(bivlc, tmp_path / "bench")
    (tmp_path / "o.csv").write_text(OUTCOMES)
    words = ["import", tmp_path / "bench", tmp_path / "o.csv", "--name", "x", "--out"]
    told = []
    for cells in ([], ["--scored-cells"]):
        given = [str(word) for word in [*words, tmp_path / f"run{len(cells)}", *cells]]
        done = CliRunner().invoke(app, given, catch_exceptions=False)
        told.append("answers count as given one by one" in done.output)
    assert told == [True, False]


def test_outcomes_by_item_and_question_in_gzipped_jsonl(bivlc, tmp_path):
    rows = [
        {"item": "test:0", "caption@0": True, "caption@1": 1, "image@0": "right", "image@1": "yes"},
        {"item": "test:1", "caption@0": False, "caption@1": 0, "image@0": "no", "image@1": "wrong"},
    ]
    text = "\n".join(json.dumps(row) for row in rows)
    (tmp_path / "o.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(
        BadInput, match=r"item test:2 has no row for caption@0 \(and 3 more of it\)"
    ):
        ta.import_scores(bivlc, tmp_path / "o.jsonl.gz", name="x", out=tmp_path / "x")
    run = ta.import_scores(
        bivlc, tmp_path / "o.jsonl.gz", name="x", out=tmp_path / "x", skip_bad=True
    )
    assert values(run)["Group"] == 0.5 and len(run.covered) == 2 and not run.failures


def test_single_outcomes_give_micro_and_macro(tmp_path):
    kinds = ["swap-object"] * 3 + ["add-object"]
    items = [grid_item(str(k), 1, 2, {(0, 0)}, kind=kind) for k, kind in enumerate(kinds)]
    bench = benchmark_of(items)
    (tmp_path / "o.csv").write_text(
        "item,correct\n" + "".join(f"test:{k},{int(k < 3)}\n" for k in range(4))
    )
    run = ta.import_scores(bench, tmp_path / "o.csv", name="x", out=tmp_path / "x")
    got = {row.kind: row.value for row in measure(run, by_kind=True).rows}
    assert (got["micro"], got["macro"]) == (0.75, 0.5)


def test_an_outcome_that_is_neither_is_named(bivlc, tmp_path):
    (tmp_path / "o.csv").write_text(OUTCOMES.replace("False,True,False,False", "maybe,True,,"))
    with pytest.raises(BadInput, match="Ipos2T of item test:3 is 'maybe'") as caught:
        ta.import_scores(bivlc, tmp_path / "o.csv", name="x", out=tmp_path / "x")
    assert "row 4" in caught.value.where


def test_captions_that_no_item_has_are_named(bivlc, tmp_path):
    (tmp_path / "o.csv").write_text(OUTCOMES.replace("Two cups.", "Three cups."))
    with pytest.raises(BadInput, match=r"no item of hand-made has the captions 'Three cups\.'"):
        ta.import_scores(bivlc, tmp_path / "o.csv", name="x", out=tmp_path / "x")


def test_wide_scores_equal_long_ones(bivlc, tmp_path):
    (run,) = ta.evaluate("chance", bivlc, tmp_path / "runs")
    wide = (
        run.scores.with_columns(cell=pl.format("s_{}_{}", "image", "caption"))
        .pivot("cell", index="item", values="score")
    )  # fmt: skip
    wide.write_csv(tmp_path / "w.csv")
    again = ta.import_scores(bivlc, tmp_path / "w.csv", name="x", out=tmp_path / "x")
    assert values(again) == values(run)
    wide.rename({"s_1_1": "s_2_1"}).write_csv(tmp_path / "bad.csv")
    with pytest.raises(BadInput, match="has no cell s_2_1"):
        ta.import_scores(bivlc, tmp_path / "bad.csv", name="x", out=tmp_path / "y")


def test_bison_predictions_are_read_as_the_authors_write_them(tmp_path):
    def item(number: int, target: int, decoy: int) -> Item:
        return Item.imported(
            "bison", str(number), images=(str(target), str(decoy)), captions=("A dog.",),
            true=frozenset({(0, 0)}), kind="bison", origin=Origin("test"),
        )  # fmt: skip

    bench = benchmark_of([item(0, 11, 12), item(1, 13, 14), item(2, 15, 16)])
    rows = [(0, 11), (1, 14), (2, 15)]
    made = [{"bison_id": b, "predicted_image_id": i} for b, i in rows]
    (tmp_path / "p.json").write_text(json.dumps(made))
    run = ta.import_scores(bench, tmp_path / "p.json", name="x", out=tmp_path / "x")
    assert values(run)["accuracy"] == pytest.approx(2 / 3)
    made[1]["predicted_image_id"] = 99
    (tmp_path / "p.json").write_text(json.dumps(made))
    with pytest.raises(BadInput, match="item bison:1 has no image 99") as caught:
        ta.import_scores(bench, tmp_path / "p.json", name="x", out=tmp_path / "y")
    assert "'13', '14'" in caught.value.allowed


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([{"item": "test:0", "score": 1}, {"item": [2], "score": "a"}], "column called 'image'"),
        ([{"item": ["test:0"], "caption@0": True}], r"no item \['test:0'\]"),
        ([{"item": "test:0", "caption@0": {"a": 1}}], "caption@0 of item test:0 is {'a': 1}"),
        ([{"item": "test:0", "question": ["a"], "choice": 0}], r"has no question \['a'\]"),
        ([{"item": "test:0", "question": "caption@0", "choice": [0]}], r"no caption \[0\]"),
        ([{"item": "test:0", "question": "caption@0", "choice": "7" * 5_000}], "no caption '777"),
        ([{"item": "test:0", "0,0": 10**400}], "a score of item test:0 is 1000"),
        ([{"item": "test:0", "0,0": 1.0, "7" * 5_000 + ",0": 1.0}], "has no row for 0,1"),
        ([{"caption": ["A dog."], "negative_caption": 3, "Ipos2T": True}], "has the captions"),
        ([{"bison_id": {"a": 1}, "predicted_image_id": 1}], "no item \"bison:{'a': 1}\""),
        ([{"item": "test:0", "\ud800": 1, "caption@0": "\ud800"}], "caption@0 of item test:0 is"),
    ],
)
def test_rows_of_json_of_whatever_type_end_in_a_clear_error(bivlc, tmp_path, rows, what):
    (tmp_path / "a.json").write_text(json.dumps(rows))
    with pytest.raises(TellapartError, match=what) as caught:
        ta.import_scores(bivlc, tmp_path / "a.json", name="x", out=tmp_path / "x")
    assert len(str(caught.value).encode()) < 10_000
