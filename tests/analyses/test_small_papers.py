"""Papers in small, on the built-in world: systems, sources, and who stands for people."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("accelerate", reason="accelerate is not installed")
pytest.importorskip("fastapi", reason="the extra 'study' is not installed")
import tellapart as ta
from tellapart.analyses.exhibits.exhibit import PaperSources, joined
from tellapart.papers.figures import tables_named
from tellapart.verbs.small_papers import small_paper
from tellapart.verbs.small_papers.four_papers import HIGHEST, correctness
from tellapart.verbs.small_papers.small_paper import SmallPaper, settings_of
from tests.models.small import one_thread


def test_the_systems_are_those_of_the_papers_tables_that_can_be_trained(tmp_path):
    small = SmallPaper("bison", tmp_path)
    assert len(small.systems) == 11 and small.systems[0] == "showtell"
    assert {"updown-scst", "scan-t2i"} <= set(small.systems)
    assert not any(name.startswith("reference:") for name in small.systems)


def test_widths_are_at_most_64_and_the_second_stage_keeps_those_of_the_first():
    assert {"width=64", "attention=64", "least=1"} <= set(settings_of("updown", "small"))
    assert not any("width" in one for one in settings_of("updown", "scst-small"))
    assert "hidden=64" not in settings_of("convnet-bow", "small"), "it has no hidden layers there"


def test_who_knows_the_scene_rates_captions(tmp_path):
    corpus = ta.world(tmp_path / "world", scenes=6, seed=0)
    image, own = next(iter(corpus.texts_by_image.items()))
    other = list(corpus.texts_by_image.values())[1]
    assert [correctness(corpus, image, text) for text in own] == [HIGHEST] * len(own)
    assert min(correctness(corpus, image, text) for text in other) < HIGHEST
    assert correctness(corpus, image, "green ideas sleep") == 1


def test_what_was_given_comes_before_what_was_made():
    given, made = PaperSources(runs=("mine",)), PaperSources(runs=("other",), queries="q.csv")
    assert joined(given, made).runs == ("mine",) and joined(given, made).queries == "q.csv"


def test_bivlc_in_small_is_whole_and_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr(small_paper, "JUDGED", 12)
    page = ta.paper("bivlc", tmp_path / "bivlc.html", small=True, scenes=8, tests=24)
    assert {one.exhibit.title for one in page.exhibits if one.found} >= {
        "What people dropped", "Group by what was edited", "Agreement of annotators",
    }  # fmt: skip
    assert "Our figures come from drawings" in page.page.read_text()
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "bivlc").rglob("run.json")}
    assert len(before) >= 3
    ta.paper("bivlc", tmp_path / "bivlc.html", small=True, scenes=8, tests=24)
    assert before == {file: file.stat().st_mtime_ns for file in before}


@pytest.mark.campaign
def test_a_system_of_each_sort_makes_its_part_of_bison(tmp_path, monkeypatch):
    some = ("showtell", "showtell-scst", "convnet-bow")
    monkeypatch.setattr(SmallPaper, "systems", some)
    quick = {"retrieval": "batch=32", "captioning": "longest=12", "self-critical": "samples=2"}
    short = {task: ("epochs=1", one, *(("least=1",) if task != "self-critical" else ()))
             for task, one in quick.items()}  # fmt: skip
    monkeypatch.setattr(small_paper, "LEARNT", short)
    with one_thread():
        page = ta.paper("bison", tmp_path / "bison.html", small=True, scenes=30, tests=24)
    made = {one.exhibit.place for one in page.exhibits if one.found}
    assert {"Table 1", "Figure 4", "Figure 9", "short paper, Table 1"} <= made
    ours = [row for row in str(page).splitlines() if " ours " in row]
    assert len(ours) >= len(some) + 2, "a row each, and the captioning scores that choose"
    assert len(tables_named("bison")) == 3
