"""Captioners' results in a view: what was written beside what people wrote, scores, uses."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the extra 'view' is not installed")
import tellapart as ta
from tellapart.errors import BadInput, UnknownName
from tellapart.verbs.runs.view import make_caption_study, make_viewer
from tellapart.views.captions import CaptionSheet, holds_captions
from tellapart.views.cards import cards_of, item_rows, whole_item
from tellapart.views.figure import figure_zip
from tellapart.views.query import Query, ids_of, selected
from tellapart.views.summary import paired, summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems: `good` repeats a reference, `poor` says one thing of everything."""
    root = tmp_path_factory.mktemp("captions")
    corpus = ta.world(root / "world", scenes=12, seed=0)
    texts = corpus.texts_by_image
    written = {
        "good": {image: own[0] for image, own in texts.items()},
        "poor": dict.fromkeys(list(texts)[:10], "a <b>thing</b>"),
    }
    (root / "results").mkdir()
    for name, captions in written.items():
        rows = [{"image_id": image, "caption": text} for image, text in captions.items()]
        (root / "results" / f"{name}.json").write_text(json.dumps(rows))
    (root / "results" / "other.json").write_text('[{"no": "captions"}]')
    (root / "results" / "torn.json").write_text('[{"image_id": 1, "capt')
    return root


@pytest.fixture(scope="module")
def sheet(folder: Path) -> CaptionSheet:
    viewer = make_viewer([folder / "results"], ta.ViewOptions(references=folder / "world"))
    (found,) = viewer.library.sheets
    assert isinstance(found, CaptionSheet) and not viewer.library.problems
    return found


def rows_of(sheet: CaptionSheet, query: str) -> np.ndarray:
    return selected(Query.at(f"items?{query}"), sheet)


def test_images_that_all_wrote_of_are_shown_with_references_and_scores(
    sheet: CaptionSheet, folder: Path
) -> None:
    assert len(sheet) == 10 and sheet.labels == ["good", "poor"]
    assert "10 of 12 images" in sheet.card_json()["about"]
    (card,) = cards_of(sheet, np.array([0]), str)
    texts = ta.read_corpus(folder / "world").texts_by_image
    assert [line["before"] for line in card["lines"]] == list(texts[card["id"].split(":", 1)[1]])
    assert all(part["fits"] is None for part in (*card["lines"], *card["shots"]))
    good, poor = card["rows"]
    assert good["verdict"] is None and poor["answers"][0]["text"] == "a <b>thing</b>"
    assert float(good["answers"][1]["text"]) > float(poor["answers"][1]["text"])
    files = [folder / "results" / f"{name}.json" for name in sheet.labels]
    scores = ta.captions(files, folder / "world", ta.CaptionOptions(resamples=10, permutations=10))
    overview = sheet.overview_json()
    for row in overview["rows"]:
        assert row["value"] == pytest.approx(scores.value(row["label"], "CIDEr-D"))
        assert row["low"] <= row["value"] <= row["high"] <= overview["top"]


def test_order_and_search_follow_what_was_written(sheet: CaptionSheet) -> None:
    scores = sheet.scores("CIDEr-D")
    lowest = rows_of(sheet, "a=good&sort=margin")
    assert (np.diff(scores[lowest, 0]) >= 0).all()
    furthest = rows_of(sheet, "sort=spread")
    assert (np.diff(np.abs(scores[furthest, 0] - scores[furthest, 1])) <= 1e-6).all()
    assert len(rows_of(sheet, "q=thing&in=written")) == 10
    reference = sheet.item(3).captions[-1]
    assert 3 in rows_of(sheet, f"q=%22{reference}%22".replace(" ", "+"))
    assert 3 not in rows_of(sheet, f"q=%22{reference}%22&in=written".replace(" ", "+"))
    for wrong in ("sort=wrong", "q=a&in=changed"):
        with pytest.raises(UnknownName):
            rows_of(sheet, wrong)


def test_two_systems_are_compared_by_the_mean_of_their_scores(sheet: CaptionSheet) -> None:
    rows = np.arange(10)
    found = paired(sheet, rows, 0, 1)
    gap = sheet.scores("CIDEr-D")[:, 0] - sheet.scores("CIDEr-D")[:, 1]
    assert found["difference"] == pytest.approx(gap.mean())
    error = gap.std(ddof=1) / np.sqrt(10)
    assert found["high"] - found["difference"] == pytest.approx(2.262 * error, rel=1e-3)
    counted = (found["higher"], found["lower"], found["level"])
    assert counted == (int((gap > 0).sum()), int((gap < 0).sum()), int((gap == 0).sum()))
    whole = summary(sheet, rows, "")
    assert whole["agreement"] == []
    assert whole["runs"][0]["value"] == pytest.approx(sheet.scores("CIDEr-D")[:, 0].mean())


def test_tables_figures_and_studies_say_who_wrote_what(sheet: CaptionSheet, tmp_path: Path) -> None:
    table = item_rows(sheet, np.arange(2))
    assert table["poor"].to_list() == ["a <b>thing</b>"] * 2
    assert {"good CIDEr-D", "good BLEU-4", "references"} <= set(table.columns)
    with zipfile.ZipFile(io.BytesIO(figure_zip(sheet, np.arange(2)))) as packed:
        tex, svg = (packed.read(name).decode() for name in ("figure.tex", "figure.svg"))
    assert r"\emph{poor:} a " in tex and "thing" in tex and r"\emph{people:}" in tex
    assert "✗" not in svg and "a &lt;b&gt;thing&lt;/b&gt;" in svg
    assert whole_item(sheet, 0, str)["origin"]["references"] == str(len(sheet.item(0).captions))
    said = make_caption_study(sheet, frozenset(ids_of(sheet, np.arange(2))), tmp_path / "study")
    assert "rate-correctness" in said
    assert len(ta.load_benchmark(tmp_path / "study" / "items")) == 4


def test_without_references_it_is_said_what_is_needed(folder: Path) -> None:
    with pytest.raises(BadInput, match="nothing to show") as caught:
        make_viewer([folder / "results" / "good.json"], ta.ViewOptions())
    assert "--references" in caught.value.where
    with pytest.raises(BadInput, match="is a file without captions"):
        make_viewer([folder / "results" / "other.json"], ta.ViewOptions())
    assert holds_captions(folder / "results" / "good.json")
    assert not holds_captions(folder / "results" / "torn.json")


def test_a_results_file_that_has_changed_is_read_again(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_bytes((folder / "results" / "poor.json").read_bytes())
    viewer = make_viewer([file], ta.ViewOptions(references=folder / "world"))
    assert not viewer.loader.changed()
    file.write_text(json.dumps(json.loads(file.read_text())[:4]))
    viewer._look_again = 0.0
    assert viewer.look() == 2 and len(viewer.library.sheets[0]) == 4
    assert viewer.marks.path.parent == tmp_path
