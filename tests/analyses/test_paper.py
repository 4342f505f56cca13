"""A paper's page: what can be made is made, what cannot says what it needs."""

from __future__ import annotations

import re

import pytest

import tellapart as ta
from tellapart.analyses.exhibits.exhibit import Exhibit, PaperSources, shown
from tellapart.analyses.exhibits.page import paper_page
from tellapart.analyses.exhibits.papers import PAPERS
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.errors import BadInput, UnknownName
from tellapart.papers.table import FigureRow, PaperTable
from tellapart.score.run import save_run
from tests.analyses.foils import answered, foil_bench


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    bench = save_benchmark(foil_bench(120), folder / "bench")
    save_run(answered(bench, lambda item: 1.0, "model <b>"), folder / "run")
    sources = ta.PaperSources(benchmark=(str(folder / "bench"),), runs=(str(folder / "run"),))
    return ta.paper("foil", folder / "foil.html", sources)


def test_what_was_given_is_made_with_what_it_departs_in(page):
    made = {one.exhibit.title for one in page.exhibits if one.found is not None}
    assert {
        "What the benchmark consists of",
        "The position of the foil",
        "Foils by supercategory",
    } <= made
    assert "120 items" in str(page) and "differs:" in str(page)
    assert "; the others say what they need.</p>" in page.page.read_text()
    whole = paper_page("bivlc", [], [one for one in page.exhibits if one.found is not None])
    assert "<h1>BiVLC: " in whole and "the others" not in whole


def test_what_was_not_given_is_named(tmp_path):
    found = ta.paper("bison", tmp_path / "bison.html")
    assert all(one.found is None for one in found.exhibits)
    assert "not made: give --queries, --judgements" in str(found)
    assert "SCAN t2i" in str(found), "the published tables stand there all the same"


def test_the_page_is_whole_and_fetches_nothing(page):
    text = page.page.read_text()
    assert text.count("<section>") == len(page.exhibits) + len(page.tables)
    assert "<svg" in text and not re.search(r"(src|href)=\"http|url\(|@import", text)
    assert "model <b>" not in text and "model &lt;b&gt;" in text


def test_tables_of_scores_are_tables_with_our_rows_marked(page):
    rows = (FigureRow("Blind", "published", (55.62,)), FigureRow("Blind", "ours, fair", (50.0,)))
    text = paper_page("foil", [PaperTable("foil-2", "Which?", ("T1",), rows, ("a <b>",))], [])
    assert "<h2>Table 2: Which?</h2>" in text and "<li>a &lt;b&gt;</li>" in text
    assert '<tr><td class="left">Blind</td><td class="left">published</td><td>55.62</td>' in text
    assert text.count('<tr class="ours">') == 1
    assert page.tables == () and "There are no tables of scores: none of" in page.page.read_text()
    assert "tables of scores: none of the runs is on the table's benchmark" in str(page)


def test_every_exhibit_asks_for_sources_that_exist():
    fields = set(PaperSources.__dataclass_fields__)
    for exhibits in PAPERS.values():
        for one in exhibits:
            assert one.needs and set(one.needs) <= fields and one.published and one.departs


def test_an_exhibit_that_fails_says_why():
    def fails(sources, progress):
        raise BadInput("too few items")

    one = Exhibit("Table 9", "x", "y", "z", (), fails)
    assert shown(one, PaperSources()).why_not == "too few items"


def test_an_unknown_paper_is_an_error(tmp_path):
    with pytest.raises(UnknownName, match="bisson"):
        ta.paper("bisson", tmp_path / "x.html")
    assert not (tmp_path / "x.html").exists()
