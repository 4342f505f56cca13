"""Runs: the same bytes twice, versions, samples, bad pictures, answers from elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tellapart as ta
from tellapart.errors import BadImage, BadInput, DiskFull, UnknownName
from tellapart.models.model import ModelInfo
from tellapart.verbs.runs.measure import measure


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and p.name != "timings.json"
    }


def test_the_same_commands_twice_give_the_same_bytes(world, tmp_path):
    for place in ("one", "two"):
        for what, verifier in (
            ("bison", "oracle"),
            ("foil", "oracle"),
            ("mcic", ""),
            ("bivlc", ""),
        ):
            options = ta.BuildOptions(verifier=verifier, seed=4)
            bench = ta.build(what, world, tmp_path / place / "b" / what, options)
            models = ["chance", "blind", "chance-chooser"]
            ta.evaluate(models, bench, tmp_path / place / "runs")
    one, two = files_of(tmp_path / "one"), files_of(tmp_path / "two")
    assert list(one) == list(two) and len(one) > 30
    assert one == two


class Pictures:
    """Really opens the pictures: mean brightness, or NaN for one image."""

    def __init__(self, broken: str = "") -> None:
        self.facts = ModelInfo("pictures")
        self.broken = broken
        self.opened: list[str] = []

    def embed_images(self, pictures):
        self.opened += [p.id for p in pictures]
        rows = [[np.nan if p.id == self.broken else np.asarray(p.open()).mean()] for p in pictures]
        return np.array(rows)

    def embed_texts(self, texts):
        return np.ones((len(texts), 1))


@pytest.fixture
def copied(world, tmp_path):
    """A benchmark whose pictures may be spoiled."""
    shutil.copytree(world.root, tmp_path / "world")
    corpus = ta.read_corpus(tmp_path / "world")
    return ta.build("bison", corpus, tmp_path / "bison", ta.BuildOptions(verifier="oracle"))


def test_every_image_is_encoded_once(benchmarks, tmp_path):
    model = Pictures()
    ta.evaluate([model], benchmarks["bivlc"], tmp_path)
    assert len(model.opened) == len(set(model.opened)) == len(benchmarks["bivlc"].images)


@pytest.mark.parametrize("harm", ["missing", "truncated"])
def test_a_bad_picture_stops_with_its_name_or_is_recorded(copied, tmp_path, harm):
    item = copied.items[5]
    path = copied.picture(item.images[0]).path
    if harm == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(BadImage, match=item.images[0]) as caught:
        ta.evaluate([Pictures()], copied, tmp_path / "runs")
    assert str(path) in str(caught.value)
    assert not (tmp_path / "runs" / "bison").exists()
    (run,) = ta.evaluate([Pictures()], copied, tmp_path / "runs", ta.EvaluateOptions(skip_bad=True))
    using = [i.id for i in copied.items if item.images[0] in i.images]
    assert {failure.item for failure in run.failures} == set(using)
    assert measure(run).rows[0].n == len(copied.items)


def test_a_score_that_is_no_number_is_a_failure_of_its_item_alone(benchmarks, tmp_path):
    bison = benchmarks["bison"]
    bad = bison.items[0].images[0]
    (run,) = ta.evaluate([Pictures(broken=bad)], bison, tmp_path)
    using = {i.id for i in bison.items if bad in i.images}
    assert {failure.item for failure in run.failures} == using
    assert "score is nan" in run.failures[0].reason


def test_a_limit_is_a_sample_that_the_seed_gives(benchmarks, tmp_path):
    covered = []
    for seed in (0, 0, 1):
        options = ta.EvaluateOptions(limit=10, seed=seed, overwrite=True)
        (run,) = ta.evaluate("chance", benchmarks["bison"], tmp_path, options)
        covered.append(run.covered)
    assert covered[0] == covered[1] != covered[2]
    assert len(covered[0]) == 10


def test_a_run_of_another_version_of_the_benchmark_is_refused(world, tmp_path):
    bench = ta.build("bison", world, tmp_path / "bison", ta.BuildOptions(verifier="oracle"))
    (run,) = ta.evaluate("chance", bench, tmp_path / "runs")
    options = ta.BuildOptions(verifier="oracle", items=20, overwrite=True)
    ta.build("bison", world, tmp_path / "bison", options)
    with pytest.raises(BadInput, match="belongs to another version of bison") as caught:
        measure(run.folder)
    assert "evaluate the model on this version" in caught.value.todo


def test_a_run_is_not_overwritten_unasked(benchmarks, tmp_path):
    ta.evaluate("chance", benchmarks["bison"], tmp_path)
    with pytest.raises(BadInput, match="already exists"):
        ta.evaluate("chance", benchmarks["bison"], tmp_path)


def test_a_run_for_which_there_is_no_room_names_its_own_folder(benchmarks, tmp_path, monkeypatch):
    def full(path, table):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tellapart.score.run.write_parquet", full)
    with pytest.raises(DiskFull) as caught:
        ta.evaluate("chance", benchmarks["bison"], tmp_path / "runs")
    assert caught.value.where == str(tmp_path / "runs" / "bison" / "chance")


def test_a_run_tells_what_made_it(benchmarks, tmp_path):
    (run,) = ta.evaluate("oracle?error=0.1", benchmarks["bison"], tmp_path)
    card = json.loads((run.folder / "run.json").read_text())
    assert card["model"] == "oracle?error=0.1"
    assert card["options"] == {"error": 0.1, "seed": 0}
    assert card["benchmark_sha256"] == benchmarks["bison"].sha256
    assert {"tellapart", "python", "numpy"} <= set(card["versions"])
    assert "seconds" in json.loads((run.folder / "timings.json").read_text())


# Answers from elsewhere


def exported(run) -> pl.DataFrame:
    return run.scores.filter(pl.col("edit") == "").select("item", "image", "caption", "score")


@pytest.fixture
def table(benchmarks, tmp_path):
    (run,) = ta.evaluate("chance", benchmarks["bivlc"], tmp_path / "runs")
    return exported(run), measure(run).rows


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_scores_computed_elsewhere_measure_the_same(benchmarks, table, tmp_path, ending):
    rows, expected = table
    path = tmp_path / f"scores.{ending}"
    write = {
        "csv": rows.write_csv,
        "tsv": lambda p: rows.write_csv(p, separator="\t"),
        "jsonl": rows.write_ndjson,
        "parquet": rows.write_parquet,
    }[ending]
    write(path)
    run = ta.import_scores(benchmarks["bivlc"], path, name="mine", out=tmp_path / "mine")
    got = measure(run).rows
    assert [(r.measure, r.kind, r.value, r.low) for r in got] == [
        (r.measure, r.kind, r.value, r.low) for r in expected
    ]


def test_images_and_captions_may_be_named_instead_of_numbered(benchmarks, table, tmp_path):
    rows, expected = table
    by_id = benchmarks["bivlc"].by_id
    named = pl.DataFrame(
        [
            {
                "item": item, "score": score,
                "image": by_id[item].images[i], "caption": by_id[item].captions[j],
            }
            for item, i, j, score in rows.iter_rows()
        ]
    )  # fmt: skip
    named.write_csv(tmp_path / "s.csv")
    run = ta.import_scores(benchmarks["bivlc"], tmp_path / "s.csv", name="m", out=tmp_path / "m")
    assert [r.value for r in measure(run).rows] == [r.value for r in expected]


def test_choices_import_as_a_chooser(benchmarks, tmp_path):
    items = benchmarks["bison"].items
    rows = [
        {"item": i.id, "question": "image@0", "choice": i.images[min(i.true)[0]]} for i in items
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "c.csv")
    run = ta.import_scores(benchmarks["bison"], tmp_path / "c.csv", name="me", out=tmp_path / "m")
    (row,) = measure(run).rows
    assert (row.value, run.card.kind) == (1.0, "chooser")


def spoiled(rows: pl.DataFrame, how: str) -> pl.DataFrame:
    first = rows.row(0, named=True)
    match how:
        case "missing row":
            return rows[1:]
        case "unknown item":
            return rows.with_columns(item=pl.col("item").replace({first["item"]: "bivlc-nobody"}))
        case "doubled":
            return pl.concat([rows, rows[:1]])
        case "no such caption":
            return rows.with_columns(caption=pl.lit(7))
        case "not a number":
            return rows.with_columns(score=pl.lit("high"))
        case "no column":
            return rows.rename({"score": "scores"})
    raise AssertionError(how)


@pytest.mark.parametrize(
    ("how", "message", "allowed"),
    [
        ("missing row", "has no row for 0,0", "0,0, 0,1, 1,0, 1,1"),
        ("unknown item", "there is no item 'bivlc-nobody' in bivlc", "such as bivlc-"),
        ("doubled", "0,0 of item .* occurs twice", "once"),
        ("no such caption", "has no caption '7'", "0 to 1"),
        ("not a number", "a score of item .* is 'high'", "a finite number"),
        ("no column", "there is no column called 'score'", "scores"),
    ],
)
def test_bad_tables_are_named_and_nothing_is_written(
    benchmarks, table, tmp_path, how, message, allowed
):
    path = tmp_path / "bad.csv"
    spoiled(table[0], how).write_csv(path)
    with pytest.raises((BadInput, UnknownName), match=message) as caught:
        ta.import_scores(benchmarks["bivlc"], path, name="mine", out=tmp_path / "mine")
    assert allowed in caught.value.allowed
    assert "bad.csv" in caught.value.where
    assert not (tmp_path / "mine").exists()


def test_skip_bad_keeps_the_rest_and_accounts_for_what_is_missing(benchmarks, table, tmp_path):
    rows, _ = table
    gone = rows.row(0, named=True)["item"]
    pl.concat([rows[1:], rows[-1:]]).write_csv(tmp_path / "s.csv")
    run = ta.import_scores(
        benchmarks["bivlc"], tmp_path / "s.csv", name="m", out=tmp_path / "m", skip_bad=True
    )
    assert [(f.item, f.part) for f in run.failures] == [(gone, "0,0")]
    assert measure(run, measures=["Group"], by_kind=False).rows[0].failed == 1
