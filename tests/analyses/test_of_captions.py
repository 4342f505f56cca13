"""Lengths, references, scores and ratings of captions, against what was planted."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest

import tellapart as ta
from tellapart.analyses.figure import Figure, Panel
from tellapart.errors import BadInput
from tellapart.reports.drawing import page_svg
from tests.analyses.foils import answered, foil_bench, foil_item
from tests.conftest import benchmark_of


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Forty images with four captions of seven words each, as a table."""
    rows = ["image,caption"]
    for k in range(40):
        rows += [f"i{k}.jpg,a dog number{k} runs w{j}" for j in range(4)]
    path = tmp_path_factory.mktemp("corpus") / "captions.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def results(path, captions):
    path.write_text(json.dumps([{"image_id": i, "caption": c} for i, c in captions.items()]))
    return path


def test_longer_captions_are_found_longer(corpus):
    bench = benchmark_of([foil_item(f"{k}", k % 3, 8 + k % 3) for k in range(60)])
    options = ta.LengthOptions(beside=corpus, parts=False)
    found = ta.analyse("lengths", bench, options)
    own, other = found.table("means").iter_rows(named=True)
    assert own["mean"] == pytest.approx(9) and other["mean"] == 7
    assert own["difference_low"] < 2 < own["difference_high"] and "longer" in found.sentences[0]
    shares = found.table("lengths")
    by_source = shares.group_by("source").agg(pl.col("share").sum())
    assert by_source["share"].to_list() == pytest.approx([1, 1])


def test_parts_of_speech_are_shares_of_words(corpus):
    pytest.importorskip("spacy")
    bench = benchmark_of([foil_item(f"{k}", k % 3, 6) for k in range(4)])
    found = ta.analyse("lengths", bench, ta.LengthOptions(beside=corpus, limit=4))
    parts = found.table("parts")
    assert parts.group_by("source").agg(pl.col("share").sum())["share"].to_list() == (
        pytest.approx([1, 1])
    )
    assert "parts of speech differ" in found.sentences[-1] and len(found.figure.panels) == 2


def test_scores_rise_with_references_and_are_whole_with_all(corpus, tmp_path):
    written = {f"i{k}.jpg": f"a dog number{k} runs w0" for k in range(40)}
    path = results(tmp_path / "mine.json", written)
    options = ta.ReferenceOptions(references=corpus, metrics=("BLEU-4",), used=(1, 4), repeats=2)
    found = ta.analyse("references", path, options)
    few, every = found.table("references").iter_rows(named=True)
    assert few["relative"] < 0.9 and every["relative"] == pytest.approx(1)
    assert "BLEU-4 with 1 reference is" in found.sentences[0]
    with pytest.raises(BadInput, match="no references were given"):
        ta.analyse("references", path)


def test_a_score_that_prints_as_zero_is_not_compared_with_itself(corpus, tmp_path):
    path = results(tmp_path / "mine.json", {f"i{k}.jpg": "a cat is dog" for k in range(40)})
    metrics = ("BLEU-1", "BLEU-4")  # single words are shared, four in a row never
    options = ta.ReferenceOptions(references=corpus, metrics=metrics, used=(1, 4), repeats=2)
    found = ta.analyse("references", path, options)
    assert found.sentences[0] == (
        "mine: BLEU-4 is 0.00 with all references, so fewer cannot be compared."
    )
    assert set(found.table("references")["metric"]) == {"BLEU-1"}


@pytest.fixture(scope="module")
def per_image(tmp_path_factory):
    bench = foil_bench(300)
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"image": [item.images[0] for item in bench.items],
                          "told": rng.normal(size=300), "noise": rng.normal(size=300)})  # fmt: skip
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    table.write_csv(path)
    told = dict(table.select("image", "told").iter_rows())
    return answered(bench, lambda item: 2 * told[item.images[0]], "m"), path


def test_a_score_that_goes_with_right_answers_has_a_high_auc(per_image):
    run, path = per_image
    found = ta.analyse("scores", run, ta.ScoreOptions(per_image=path))
    told, noise = found.table("separation").iter_rows(named=True)
    assert told["low"] > 0.65 and noise["low"] < 0.5 < noise["high"]
    assert "told is higher where the answer is right" in found.sentences[0]
    assert "noise is not shown to differ" in found.sentences[1]
    assert "left out" not in " ".join(found.methods)


def test_answers_without_a_score_are_counted(per_image, tmp_path):
    run, path = per_image
    holes = pl.read_csv(path, schema_overrides={"image": pl.String}).with_row_index("k")
    holes = holes.with_columns(told=pl.when(pl.col("k") < 30).then(float("nan")).otherwise("told"))
    holes.drop("k").write_csv(tmp_path / "holes.csv")
    found = ta.analyse("scores", run, ta.ScoreOptions(per_image=tmp_path / "holes.csv"))
    told = found.table("separation").row(0, named=True)
    assert told["right"] + told["wrong"] == 270
    assert "m: 30 of 300 answers have no told of their image" in found.methods[1]


def test_scores_of_other_images_or_none_are_an_error(per_image, tmp_path):
    run, _ = per_image
    with pytest.raises(BadInput, match="no captioning scores"):
        ta.analyse("scores", run)
    other = tmp_path / "other.csv"
    other.write_text("image,score\nelsewhere,1\n")
    with pytest.raises(BadInput, match="no image of hand-made has a captioning score"):
        ta.analyse("scores", run, ta.ScoreOptions(per_image=other))


def rated(path, rows):
    lines = [f"{image},{caption},{','.join(map(str, given))}" for image, caption, given in rows]
    path.write_text("image,caption,rating_1,rating_2\n" + "\n".join(lines) + "\n")
    return path


def test_ratings_that_go_with_a_metric_and_those_it_misses(corpus, tmp_path):
    good = [(f"i{k}.jpg", f"a dog number{k} runs", (4, 5)) for k in range(20)]
    bad = [(f"i{k}.jpg", "something else entirely", (1, 2)) for k in range(20, 38)]
    missed = [("i39.jpg", "puppy in motion", (5, 5))]
    path = rated(tmp_path / "ratings.csv", good + bad + missed)
    options = ta.RatingOptions(references=corpus, metrics=("ROUGE-L",), most=1)
    found = ta.analyse("ratings", path, options)
    (mean,) = found.table("means").iter_rows(named=True)
    assert mean["mean"] == pytest.approx((20 * 9 + 18 * 3 + 10) / 78)
    (row,) = found.table("correlations").iter_rows(named=True)
    assert row["tau_c_low"] > 0.3 and "they correlate" in found.sentences[1]
    (liked,) = found.table("liked").iter_rows(named=True)
    assert liked["caption"] == "puppy in motion" and liked["rating"] == 5


def test_ratings_without_references_or_of_unknown_images_are_an_error(corpus, tmp_path):
    path = rated(tmp_path / "ratings.csv", [("nowhere.jpg", "a dog", (1, 2))])
    with pytest.raises(BadInput, match="no references were given"):
        ta.analyse("ratings", path)
    with pytest.raises(BadInput, match=r"nowhere\.jpg"):
        ta.analyse("ratings", path, ta.RatingOptions(references=corpus))


def test_bars_of_one_panel_are_not_as_wide_as_those_of_another():
    def bars(number: int) -> Panel:
        names = [f"{k}" for k in range(number)]
        rows = [{"label": name, "y": 1.0, "series": one} for name in names for one in "ab"]
        return Panel("bars", tuple(rows), "score", "items")

    svg = page_svg(Figure("t", "words", (bars(1), bars(9))).drawing)
    widths = Counter(re.findall(r'd="M[^"h]+h([\d.]+)v', svg))
    assert [width for width, number in widths.items() if number == 18 and float(width) < 30]
