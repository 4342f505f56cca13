"""Figures in the docs are those that `make figures` makes."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from tests.text.coco_scripts import needs_java

PATH = Path(__file__).parent.parent / "docs" / "figures.py"
spec = importlib.util.spec_from_file_location("docs_figures", PATH)
figures = importlib.util.module_from_spec(spec)
sys.modules[spec.name] = figures
spec.loader.exec_module(figures)

ELSEWHERE = ("flickr8k-expert", "foils-coco")
BLOCKS = {name: text for _, name, text in figures.blocks()}


def test_every_block_has_its_figure_and_every_figure_its_block():
    assert set(BLOCKS) == set(figures.FIGURES)


STORYBOOK = [name for name in figures.FIGURES if "storybook" in name]


@pytest.mark.campaign
@pytest.mark.parametrize("name", STORYBOOK)
def test_figures_of_the_shipped_model_are_what_comes_out(name):
    assert figures.FIGURES[name]() == BLOCKS[name], "run: make figures"


def labels(table: str, columns: int) -> list[list[str]]:
    """The first cells of a table's rows."""
    return [line.split(" | ")[:columns] for line in table.splitlines()]


def test_tables_of_the_shipped_model_have_the_pages_rows_on_a_smaller_world(monkeypatch):
    monkeypatch.setattr(figures, "SCENES", 30)
    figures.storybook.cache_clear()
    made = figures.FIGURES["storybook-scores"]()
    figures.storybook.cache_clear()
    assert labels(made, 2) == labels(BLOCKS["storybook-scores"], 2)


@needs_java
@pytest.mark.campaign
@pytest.mark.skipif("TELLAPART_REAL_DATA" not in os.environ, reason="needs the real data")
@pytest.mark.parametrize("name", ELSEWHERE)
def test_figures_of_data_from_elsewhere_are_what_comes_out(name):
    assert figures.FIGURES[name]() == BLOCKS[name], "run: make figures"


OF_FILES = [*figures.SAMPLES, "fairness-verdicts", "photos-verdicts", "catalogue-sources"]


@pytest.mark.parametrize("name", OF_FILES)
def test_figures_of_files_in_the_project_are_what_comes_out(name):
    assert figures.FIGURES[name]() == BLOCKS[name], "run: make figures"


def test_every_figure_is_compared_here():
    assert set(figures.FIGURES) == {*STORYBOOK, *OF_FILES, *ELSEWHERE}


def test_a_figure_that_is_stale_is_found_and_written_anew(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- figures: one -->\n| old |\n<!-- end -->\nafter\n")
    monkeypatch.setattr(figures, "DOCS", tmp_path)
    monkeypatch.setattr(figures, "FIGURES", {"one": lambda: "| new |\n"})
    figures.main([])
    assert "written anew" in capsys.readouterr().out
    assert page.read_text() == "before\n<!-- figures: one -->\n| new |\n<!-- end -->\nafter\n"
    figures.main([])
    assert "as it was" in capsys.readouterr().out
