"""Studies of captions and of retrieval errors, from the file to ratings and yes or no."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.study.test_results import gathered, judged

import tellapart as ta
from tellapart.errors import BadInput
from tellapart.study.caption_items import load_captions
from tellapart.study.questions.yes_no import YES_NO
from tellapart.study.ratings import rating_table
from tellapart.study.results import figures, results_of


@pytest.fixture
def results(world, tmp_path):
    ids = world.images["id"].to_list()[:4]
    path = tmp_path / "mine.json"
    rows = [{"image_id": image, "caption": f"a thing {k}"} for k, image in enumerate(ids)]
    path.write_text(json.dumps(rows))
    return path


def test_captions_become_items_with_the_corpus_pictures(world, results):
    bench = load_captions(results, world, None, 0)
    assert len(bench.items) == 4 and bench.name == "mine"
    assert all(bench.picture(item.images[0]).is_there() for item in bench.items)
    assert len(load_captions(results, world, 2, 0).items) == 2
    with pytest.raises(BadInput, match="1 or more"):
        load_captions(results, world, 0, 0)
    results.write_text(json.dumps([{"image_id": "nowhere", "caption": "a"}]))
    with pytest.raises(BadInput, match="1 of 1 images are not in"):
        load_captions(results, world, None, 0)


def test_a_caption_of_unknown_truth_is_neither_right_nor_wrong(world, results, benchmarks):
    item = load_captions(results, world, None, 0).items[0]
    (matter,) = YES_NO.matters(item)
    assert matter.truth is None and [o.key for o in YES_NO.form(matter).fixed] == ["yes", "no"]
    known = [m.truth.choices for m in YES_NO.matters(benchmarks["bison"].items[0])]
    assert {frozenset({"yes"}), frozenset({"no"})} == set(known)


def test_a_study_of_a_results_file_gives_mean_ratings(world, results, tmp_path):
    pytest.importorskip("fastapi")
    options = ta.CreateStudyOptions(ask="rate-correctness", judgements="2", on=world.root)
    ta.create_study(results, tmp_path / "study", options)
    ta.simulate_study(tmp_path / "study", ta.Crowd(people=2, error=0.0))
    out = ta.export_study(tmp_path / "study", tmp_path / "out").results
    (mean,) = out.ratings
    table = pl.read_csv(tmp_path / "out" / "ratings.csv")
    given = table.select("rating_1", "rating_2").to_numpy()
    assert mean.value == pytest.approx(given.mean()) and mean.captions == 4
    assert table["mean"].to_list() == pytest.approx(given.mean(axis=1).tolist())
    assert (
        "mean rating" in str(out)
        and json.loads((tmp_path / "out/results.json").read_text())["ratings"]
    )


def test_benchmarks_take_no_corpus(benchmarks, tmp_path, world):
    options = ta.CreateStudyOptions(ask="which-image", on=world.root)
    with pytest.raises(BadInput, match="for captions and queries"):
        ta.create_study(benchmarks["bison"].root, tmp_path / "study", options)


def test_what_all_people_were_wrong_about_is_listed():
    record = gathered(
        judged(1, "yes-no", ["a yes", "b yes"], "no", captions=("A cat by a keyboard.",)),
        judged(2, "yes-no", ["a yes", "b no"], "no"),
        judged(3, "yes-no", ["a no"], "yes"),
    )
    found = results_of(record)
    (missed,) = found.missed_by_all
    assert (missed.item, missed.said, missed.right) == ("test:n1", ("yes", "yes"), ("no",))
    assert "1 task that everyone got wrong:" in str(found) and "A cat by a keyboard." in str(found)


def test_yes_is_counted_each_and_by_majority():
    record = gathered(
        judged(1, "yes-no", ["a yes", "b yes", "c no"]),
        judged(2, "yes-no", ["a no", "b no", "c no"]),
    )
    found = {(one.about, one.how): one.value for one in figures(record)}
    assert found["yes", "each answer"] == pytest.approx(2 / 6) and found["yes", "majority"] == 0.5


def test_ratings_of_different_numbers_leave_cells_empty():
    record = gathered(judged(1, "rate-detail", ["a 5", "b 3"]), judged(2, "rate-detail", ["a 1"]))
    table = rating_table(list(record.tasks))
    assert table["rating_2"].to_list() == [3, None] and table["mean"].to_list() == [4, 1]
    (mean,) = results_of(record).ratings
    assert mean.value == 3 and mean.low < 3 < mean.high and mean.ratings == 3
