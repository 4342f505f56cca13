"""Answers by place where options were shuffled, trials, and what is left out."""

from __future__ import annotations

import json

import polars as pl
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.benchmark.source_order import source_order
from tellapart.cli.main import app
from tellapart.errors import BadInput, TellapartError
from tellapart.verbs.runs.measure import measure

ROWS = 16


def wino(k: int) -> dict[str, object]:
    return {
        "id": k, "image_0": f"{k}a.png", "image_1": f"{k}b.png",
        "caption_0": f"Red {k}, then blue.", "caption_1": f"Blue {k}, then red.",
        "tag": "Swap", "collapsed_tag": "Object",
    }  # fmt: skip


def source_score(k: int, image: int, caption: int) -> float:
    """Every third item has its captions right, every fourth its images too."""
    good = image == caption
    if k % 4 == 0:
        return float(good)
    return 0.5 * caption + 0.1 * good if k % 3 else 2.0 * image + float(good)


def by_hand() -> dict[str, float]:
    """Winoground's three scores, by its own definitions on the source's places."""
    s = source_score
    text = [s(k, 0, 0) > s(k, 0, 1) and s(k, 1, 1) > s(k, 1, 0) for k in range(ROWS)]
    image = [s(k, 0, 0) > s(k, 1, 0) and s(k, 1, 1) > s(k, 0, 1) for k in range(ROWS)]
    group = [t and i for t, i in zip(text, image, strict=True)]
    counts = {"I2T": text, "T2I": image, "Group": group}
    return {name: sum(right) / ROWS for name, right in counts.items()}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Winoground as published, imported shuffled and as it is, and a table of scores by place."""
    folder = tmp_path_factory.mktemp("wino")
    source = folder / "examples.jsonl"
    source.write_text("\n".join(json.dumps(wino(k)) for k in range(ROWS)))
    ta.get("winoground", source, folder / "shuffled")
    ta.get("winoground", source, folder / "kept", ta.GetOptions(keep_order=True))
    cells = [(k, i, j) for k in range(ROWS) for i in (0, 1) for j in (0, 1)]
    long = pl.DataFrame(
        [(f"winoground:{k}", i, j, source_score(k, i, j)) for k, i, j in cells],
        schema=["item", "image", "caption", "score"], orient="row",
    )  # fmt: skip
    long.write_csv(folder / "long.csv")
    long.write_parquet(folder / "long.parquet")
    wide = long.with_columns(cell=pl.format("s_{}_{}", "image", "caption"))
    wide.pivot("cell", index="item", values="score").write_csv(folder / "wide.csv")
    return folder


def values(run) -> dict[str, float]:
    return {r.measure: r.value for r in measure(run).rows if r.kind == "micro"}


@pytest.mark.parametrize("table", ["long.csv", "long.parquet", "wide.csv"])
def test_scores_by_place_on_a_shuffled_benchmark_are_refused_until_it_is_said_whose(
    files, tmp_path, table
):
    with pytest.raises(BadInput, match="were shuffled on import: position 0") as caught:
        ta.import_scores(
            files / "shuffled", files / table, name="x", out=tmp_path / "x", skip_bad=True
        )
    assert "--order source" in caught.value.allowed and "--order shown" in caught.value.allowed
    assert not (tmp_path / "x").exists()
    run = ta.import_scores(
        files / "shuffled", files / table, name="x", out=tmp_path / "x", order="source"
    )
    assert values(run) == by_hand()
    other = ta.import_scores(
        files / "shuffled", files / table, name="x", out=tmp_path / "y", order="shown"
    )
    assert values(other) != by_hand()


@pytest.mark.parametrize("table", ["long.csv", "wide.csv"])
def test_a_benchmark_in_its_sources_order_asks_nothing(files, tmp_path, table):
    run = ta.import_scores(files / "kept", files / table, name="x", out=tmp_path / "x")
    assert values(run) == by_hand()


def test_images_and_captions_that_are_named_need_no_order_and_spaces_do_not_matter(files, tmp_path):
    rows = [
        {
            "item": f"winoground:{k}",
            "image": wino(k)[f"image_{i}"],
            "caption": f" {wino(k)[f'caption_{j}']}\n",
            "score": source_score(k, i, j),
        }
        for k in range(ROWS)
        for i in (0, 1)
        for j in (0, 1)
    ]
    (tmp_path / "t.json").write_text(json.dumps(rows))
    run = ta.import_scores(files / "shuffled", tmp_path / "t.json", name="x", out=tmp_path / "x")
    assert values(run) == by_hand()
    again = ta.import_scores(  # a run's own table has the benchmark's own places
        files / "shuffled", tmp_path / "x" / "scores.parquet", name="x", out=tmp_path / "again"
    )
    assert again.scores.equals(run.scores)


def test_choices_and_questions_by_place_follow_the_order_too(files, tmp_path):
    bench = ta.load_benchmark(files / "shuffled")
    rows = [
        {"item": item.id, "question": f"{ask}@{place}", "choice": place}
        for item in bench.items
        for ask in ("caption", "image")
        for place in (0, 1)
    ]
    (tmp_path / "c.json").write_text(json.dumps(rows))
    with pytest.raises(BadInput, match="were shuffled"):
        ta.import_scores(bench, tmp_path / "c.json", name="x", out=tmp_path / "x")
    run = ta.import_scores(bench, tmp_path / "c.json", name="x", out=tmp_path / "x", order="source")
    assert values(run) == dict.fromkeys(("Group", "I2T", "T2I"), 1.0)  # all true in the source


def test_outcomes_of_winoground_by_bivlcs_older_names(files, tmp_path):
    head = "caption,negative_caption,text_score_i0,text_score_i1,image_score_c0,image_score_c1"
    lines = [
        f'"{wino(k)["caption_0"]}","{wino(k)["caption_1"]}",True,{k != 3},True,True'
        for k in range(ROWS)
    ]
    (tmp_path / "o.csv").write_text("\n".join([head, *lines]))
    run = ta.import_scores(files / "shuffled", tmp_path / "o.csv", name="x", out=tmp_path / "x")
    item = run.benchmark.by_id["winoground:3"]
    wrong = run.answers.filter(pl.col("item") == item.id, pl.col("question").str.contains("cap"))
    second = source_order(item).here("images", 1)
    right = {f"caption@{i}": j for i, j in item.true}
    for question, choice in wrong.select("question", "choice").iter_rows():
        assert (choice == right[question]) == (question != f"caption@{second}")


def test_an_unknown_order_is_an_error(files, tmp_path):
    with pytest.raises(TellapartError, match="no order called 'sources'"):
        ta.import_scores(
            files / "kept", files / "long.csv", name="x", out=tmp_path / "x", order="sources"
        )


# Trials


def trials(bench, skip=()) -> list[dict[str, object]]:
    """Asked twice, the options shown once each way; item 1 is answered by the place.

    Items are true on the diagonal, so that what is right for an image is right for a caption.
    """
    rows = []
    for number, item in enumerate(bench.items):
        right = dict(item.true)
        for ask in ("caption", "image"):
            for shown in (0, 1):
                for trial, order in enumerate(([0, 1], [1, 0])):
                    choice = order[0] if number == 1 else right[shown]
                    rows.append({"item": item.id, "question": f"{ask}@{shown}", "trial": trial,
                                 "order": order, "choice": choice})  # fmt: skip
    return [row for row in rows if (row["question"], row["trial"]) not in skip]


@pytest.mark.parametrize("form", ["json", "csv"])
def test_trials_and_orders_are_imported_so_that_consistency_is_measured(files, tmp_path, form):
    bench = ta.subset(files / "kept", tmp_path / "small", ta.SubsetOptions(limit=4))
    rows = trials(bench)
    path = tmp_path / f"t.{form}"
    if form == "json":
        path.write_text(json.dumps(rows))
    else:
        flat = [{**row, "order": " ".join(map(str, row["order"]))} for row in rows]
        pl.DataFrame(flat).write_csv(path)
    run = ta.import_scores(bench, path, name="x", out=tmp_path / f"run-{form}")
    found = {r.measure: r.value for r in measure(run, measures=["consistency", "accuracy"]).rows
             if r.kind == "micro"}  # fmt: skip
    assert found == {"consistency": 3 / 4, "accuracy": 3.5 / 4}
    assert run.answers["order"].to_list()[:2] == [[0, 1], [1, 0]]
    again = ta.import_scores(
        bench, run.folder / "answers.parquet", name="x", out=tmp_path / f"again-{form}"
    )
    assert again.answers.equals(run.answers)


def test_a_trial_that_is_missing_or_there_twice_is_named(files, tmp_path):
    bench = ta.subset(files / "kept", tmp_path / "small", ta.SubsetOptions(limit=2))
    rows = trials(bench, skip={("image@1", 1)})
    (tmp_path / "t.json").write_text(json.dumps(rows))
    with pytest.raises(BadInput, match="has no row for image@1 trial 1"):
        ta.import_scores(bench, tmp_path / "t.json", name="x", out=tmp_path / "x")
    (tmp_path / "t.json").write_text(json.dumps([*trials(bench), trials(bench)[0]]))
    with pytest.raises(BadInput, match=r"caption@0 trial 0 of item .* occurs twice"):
        ta.import_scores(bench, tmp_path / "t.json", name="x", out=tmp_path / "x")
    (tmp_path / "t.json").write_text(json.dumps([{**trials(bench)[0], "order": [0, 0]}]))
    with pytest.raises(BadInput, match=r"the order of caption@0 .* is \[0, 0\]"):
        ta.import_scores(bench, tmp_path / "t.json", name="x", out=tmp_path / "x")


# What is left out


def test_rows_that_were_left_out_are_listed_counted_and_in_the_run(files, tmp_path):
    text = (files / "long.csv").read_text().replace("winoground:3,", "winoground:99,")
    (tmp_path / "t.csv").write_text(text.replace("winoground:5,1,1,", "winoground:5,1,7,"))
    result = CliRunner().invoke(
        app,
        ["import", str(files / "kept"), str(tmp_path / "t.csv"), "--name", "x",
         "--out", str(tmp_path / "x"), "--skip-bad"],
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "skipped: there is no item 'winoground:99'" in result.stderr
    assert "row 13)" in result.stderr
    assert "5 of 64 rows were skipped" in result.stderr
    assert "1 answers to items in the table are missing" in result.stderr
    assert "1 items of winoground are not in the table" in result.stderr
    notes = json.loads((tmp_path / "x" / "run.json").read_text())["notes"]
    assert notes["skipped_rows"] == 5 and notes["of_rows"] == 64 and len(notes["skipped"]) == 5
    assert any("has no caption '7'" in line for line in notes["skipped"])


def test_a_place_that_is_also_the_name_of_a_picture_is_a_place_once_that_is_said(tmp_path):
    """COCO's picture 1 is called 1 in every benchmark."""
    row = {"image": "000000000001.jpg", "negative_image": "n.jpg", "caption": "A dog.",
           "negative_caption": "A cat.", "type": "replace", "subtype": "obj"}  # fmt: skip
    (tmp_path / "b.jsonl").write_text(json.dumps(row))
    for seed in range(4):
        bench = ta.get("bivlc", tmp_path / "b.jsonl", tmp_path / f"b{seed}",
                       ta.GetOptions(seed=seed))  # fmt: skip
        assert "1" in bench.items[0].images
        scores = [{"item": bench.items[0].id, "image": i, "caption": j, "score": int(i == j)}
                  for i in (0, 1) for j in (0, 1)]  # fmt: skip
        (tmp_path / "s.json").write_text(json.dumps(scores))
        run = ta.import_scores(bench, tmp_path / "s.json", name="x", out=tmp_path / f"x{seed}",
                               order="source")  # fmt: skip
        assert values(run)["Group"] == 1.0
