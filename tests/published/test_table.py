"""Any table without code: forms of file, shapes of grid, ways to say what is true."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.published.test_catalogue import as_in_source, write
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.verbs.runs.measure import measure

ROWS = [
    {"pic": "a.png", "other": "b.png", "yes": "A dog.", "no": "A cat.", "sort": "Replace Object"},
    {"pic": "c.png", "other": "d.png", "yes": "A bus.", "no": "A car.", "sort": "Replace Object"},
]
COLUMNS = {"images_columns": ("pic",), "captions_columns": ("yes", "no")}


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet", "json", "keyed.json", "lists"])
def test_every_form_of_file_gives_the_same_items(desk, form):
    columns = dict(COLUMNS)
    if form == "lists":  # a list of lists: columns by their places
        file = write(desk, "t.json", [[row["pic"], row["yes"], row["no"]] for row in ROWS])
        columns = {"images_columns": ("0",), "captions_columns": ("1", "2")}
    elif form == "keyed.json":
        file = write(desk, "t.json", {str(k): row for k, row in enumerate(ROWS)})
    elif form == "tsv":
        file = desk.folder / "t.tsv"
        pl.DataFrame(ROWS).write_csv(file, separator="\t")
    else:
        file = write(desk, f"t.{form}", ROWS)
    bench = desk.get("table", file, **columns)
    assert [as_in_source(item) for item in bench.items] == [
        (["a.png"], ["A dog.", "A cat."], {(0, 0)}), (["c.png"], ["A bus.", "A car."], {(0, 0)}),
    ]  # fmt: skip
    assert bench.card.measures == ("accuracy",)


def test_a_hugging_face_folder_with_pictures_in_parquet(desk):
    red = desk.picture("x.png").read_bytes()
    rows = [{"image": {"bytes": red, "path": "x.png"}, "texts": ["A dog.", "A cat."], "label": 1}]
    (desk.folder / "hub").mkdir()
    write(desk, "hub/data/test-00000-of-00001.parquet", rows)
    desk.write("hub/README.md", "---\nlicense: mit\n---\n")
    bench = desk.get("table", desk.folder / "hub", images_columns=("image",),
                     captions_columns=("texts",), true="label")  # fmt: skip
    (item,) = bench.items
    assert as_in_source(item)[1:] == (["A dog.", "A cat."], {(0, 1)})
    assert bench.picture(item.images[0]).read() == red


def test_a_box_of_a_picture_inside_a_table_is_refused(desk):
    data = desk.picture("x.png").read_bytes()
    row = {"pic": {"bytes": data, "path": None}, "yes": "A.", "no": "B.", "x": 0, "y": 0, "w": 2,
           "h": 2}  # fmt: skip
    layout = desk.write("mine.yaml", 'images: pic\ncaptions: ["yes", "no"]\nbox: [x, "y", w, h]')
    error = desk.error("table", write(desk, "t.parquet", [row]), layout=layout)
    assert error.startswith('"pic" of row 1 of t.parquet is bytes, which cannot be cropped')


def test_a_folder_that_datasets_saved_to_disk_says_what_to_do(desk):
    desk.write("saved/train/data-00000-of-00001.arrow", "x")
    error = desk.error("table", desk.folder / "saved", **COLUMNS)
    assert error.startswith("saved contains no files of table") and "to_parquet" in error


def test_lists_of_pictures_in_parquet_are_images_of_one_item(desk):
    pictures = [desk.picture(f"{c}.png", colour=c).read_bytes() for c in ("red", "blue")]
    rows = [{"images": [{"bytes": p, "path": None} for p in pictures], "caption": "Red."}]
    bench = desk.get("table", write(desk, "t.parquet", rows), images_columns=("images",),
                     captions_columns=("caption",))  # fmt: skip
    (item,) = bench.items
    (true,) = item.true
    assert bench.pictures(item)[true[0]].read() == pictures[0]
    assert {p.read() for p in bench.pictures(item)} == set(pictures)


GRIDS = {
    "1 x 2": ({}, {(0, 0)}, ("accuracy",)),
    "2 x 1": ({"images_columns": ("pic", "other"), "captions_columns": ("yes",)}, {(0, 0)},
              ("accuracy",)),
    "2 x 2": ({"images_columns": ("pic", "other")}, {(0, 0), (1, 1)}, ("Group", "I2T", "T2I")),
    "1 x 3": ({"captions_columns": ("yes", "no", "sort")}, {(0, 0)}, ("accuracy",)),
    "1 x 3, two true": ({"captions_columns": ("yes", "no", "sort"), "true": "0:0,0:2"},
                        {(0, 0), (0, 2)}, ("separation", "accuracy")),
    "3 x 3": ({"images_columns": ("pic", "other", "sort"),
               "captions_columns": ("yes", "no", "sort")}, {(0, 0), (1, 1), (2, 2)},
              ("accuracy",)),
}  # fmt: skip


@pytest.mark.parametrize("shape", GRIDS)
def test_measures_follow_from_the_grid(desk, shape):
    columns, true, measures = GRIDS[shape]
    bench = desk.get("table", write(desk, "t.csv", ROWS[:1]), **{**COLUMNS, **columns})
    assert as_in_source(bench.items[0])[2] == true and bench.card.measures == measures
    (run,) = ta.evaluate(["chance"], on=bench, out=desk.folder / "runs")
    assert {row.measure for row in measure(run).rows} == set(measures)


@pytest.mark.parametrize(
    ("value", "options", "place"),
    [("1", {}, 1), (1, {}, 1), ("B", {}, 1), ("b", {}, 1), ("A cat.", {}, 1), ("0", {}, 0)],
)
def test_the_true_caption_is_named_by_place_letter_or_text(desk, value, options, place):
    file = write(desk, "t.json", [{**ROWS[0], "answer": value}])
    (item,) = desk.get("table", file, **COLUMNS, true="answer").items
    assert as_in_source(item)[2] == {(0, place)}


def test_places_that_count_from_one_are_said_in_a_layout(desk):
    text = "images: pic\ncaptions: [yes, no]\ntrue: answer\ncounts_from: 1\nlicence: mine\n"
    layout = desk.write("mine.yaml", text.replace("[yes, no]", '["yes", "no"]'))
    file = write(desk, "t.json", [{**ROWS[0], "answer": 2}])
    bench = desk.get("table", file, layout=layout)
    assert as_in_source(bench.items[0])[2] == {(0, 1)}
    assert (bench.name, bench.card.licence) == ("mine", "mine")
    assert bench.items[0].id == "mine:t/1" and bench.card.made["by"] == "tellapart get table"


def test_a_kind_may_be_called_by_a_number_and_a_place_is_no_endless_one(desk):
    text = (
        'images: pic\ncaptions: ["yes", "no"]\ntrue: answer\n'
        'kind: "{sort}"\nkinds: {Replace Object: 7}'
    )
    layout = desk.write("mine.yaml", text)
    file = write(desk, "t.json", [{**ROWS[0], "answer": 0}])
    assert desk.get("table", file, layout=layout).items[0].kind == "7"
    endless = write(desk, "u.json", [{**ROWS[0], "answer": "7" * 5_000}])
    error = desk.error("table", endless, layout=layout)
    assert error.startswith('"answer" of row 1 of u.json is the text')


def test_yes_no_questions_are_judged(desk):
    rows = [{"pic": f"{k}.png", "text": f"Thing {k}.", "fits": ("yes", "no")[k % 2]}
            for k in range(8)]  # fmt: skip
    bench = desk.get("table", write(desk, "t.csv", rows), images_columns=("pic",),
                     captions_columns=("text",), true="fits")  # fmt: skip
    assert [len(item.true) for item in bench.items] == [1, 0] * 4
    assert "T1" in bench.card.measures[0]
    scores = [{"item": i.id, "image": 0, "caption": 0, "score": len(i.true)} for i in bench.items]
    (desk.folder / "s.json").write_text(json.dumps(scores))
    run = ta.import_scores(bench, desk.folder / "s.json", name="x", out=desk.folder / "x")
    assert measure(run, measures=["T1-AUC"]).rows[0].value == 1.0


def test_a_column_a_cell_says_what_is_true(desk):
    row = {**ROWS[0], "aa": "Yes", "ab": "No", "ba": "No", "bb": "Yes"}
    bench = desk.get("table", write(desk, "t.csv", [row]), images_columns=("pic", "other"),
                     captions_columns=("yes", "no"), true="aa,ab;ba,bb")  # fmt: skip
    assert as_in_source(bench.items[0])[2] == {(0, 0), (1, 1)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"images_columns": ("pic",)}, "no columns are given for the captions"),
        ({**COLUMNS, "captions_columns": ("yes", "nope")}, 'row 1 of t.csv has no "nope"'),
        ({**COLUMNS, "true": "sort"}, "\"sort\" of row 1 of t.csv is the text 'Replace Object'"),
        ({**COLUMNS, "true": "0:5"}, "row 1 of t.csv has no cell 0:5"),
        ({**COLUMNS, "true": "diagonal"}, "row 1 of t.csv has 1 images and 2 captions"),
        (
            {**COLUMNS, "true": "yes,no;sort,pic"},
            "row 1 of t.csv has 1 images and 2 captions, but --",
        ),
        ({**COLUMNS, "true": "yes,no"}, "\"yes\" of row 1 of t.csv is the text 'A dog.'"),
    ],
)
def test_what_cannot_be_meant_is_one_clear_error(desk, options, message):
    assert desk.error("table", write(desk, "t.csv", ROWS), **options).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("imagse: pic", "there is no key of a layout called 'imagse'"),
        ("images: {a: b}\ncaptions: c", '"images" of a layout is an object'),
        ("images: [pic\n", "mine.yaml is not YAML"),
        ("licence: 2020-13-45", "mine.yaml is not YAML"),
        (f"together: {'1' * 5000}", "mine.yaml is not YAML"),
        ("[" * 1000, "mine.yaml is nested too deeply"),
        ("- a", "a layout is a list"),
        ("images: pic", "no columns are given for the captions"),
        ("images: pic\ncaptions: c\nbox: [x, y]", "a box of 2 columns"),
        ("images: pic\ncaptions: c\ntogether: 0", "together: 0"),
        ("images: pic\ncaptions: c\nkinds: {a: [b]}", '"kinds" of a layout is an object'),
        ("images: pic\ncaptions: c\nkinds: [a]", '"kinds" of a layout is a list'),
        ("images: pic\ncaptions: c\nrows: data", 't.json has no "data"'),
    ],
)
def test_what_is_wrong_with_a_layout_is_named(desk, text, message):
    layout = desk.write("mine.yaml", text)
    error = desk.error("table", write(desk, "t.json", {"x": ROWS}), layout=layout)
    assert error.startswith(message)


def test_the_command_line_takes_the_file_in_the_place_of_the_folder(desk, monkeypatch):
    monkeypatch.setenv("TELLAPART_HOME", str(desk.folder / "home"))
    file = write(desk, "mine.csv", ROWS)
    result = CliRunner().invoke(
        app,
        ["get", "table", str(file), "--images-columns", "pic,other", "--captions-columns",
         "yes,no", "--true", "diagonal", "--kind-column", "sort", "--name", "mine"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    bench = ta.load_benchmark("mine")
    assert {item.kind for item in bench.items} == {"replace-object"}
    assert bench.card.measures == ("Group", "I2T", "T2I")


def test_two_true_captions_are_separated_from_the_false_one_by_hand(desk):
    rows = [{"pic": f"{k}.png", "p1": f"A {k}.", "p2": f"One {k}.", "n": f"No {k}."}
            for k in range(4)]  # fmt: skip
    bench = desk.get("table", write(desk, "t.json", rows), images_columns=("pic",),
                     captions_columns=("p1", "p2", "n"), true="0:0,0:1")  # fmt: skip
    grids = [(3, 2, 1), (3, 1, 2), (1, 1, 1), (2, 1, 1)]  # separated, not, all tied, one tied
    scores = [
        {"item": item.id, "image": 0, "caption": row[name], "score": score}
        for item, row, grid in zip(bench.items, rows, grids, strict=True)
        for name, score in zip(("p1", "p2", "n"), grid, strict=True)
    ]
    (desk.folder / "s.json").write_text(json.dumps(scores))
    run = ta.import_scores(bench, desk.folder / "s.json", name="x", out=desk.folder / "x")
    for ties, value in (("wrong", 1 / 4), ("right", 3 / 4), ("half", (1 + 1 / 3 + 1 / 2) / 4)):
        row = measure(run, measures=["separation"], ties=ties).rows[0]
        assert row.value == pytest.approx(value) and row.ties == 2
        assert row.chance == pytest.approx(1 / 3)
