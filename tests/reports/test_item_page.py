"""`show --open`: a page of items with their pictures."""

from __future__ import annotations

import re
import webbrowser
from pathlib import Path

from tests.conftest import benchmark_of, grid_item
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app


def test_show_opens_a_page_with_pictures_and_captions(benchmarks, monkeypatch):
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    done = CliRunner().invoke(
        app, ["show", str(benchmarks["bivlc"].root), "--open", "--items", "9"]
    )
    assert done.exit_code == 0, done.output
    (address,) = opened
    assert address.startswith("file://") and address.endswith("items.html")
    page = Path(address.removeprefix("file://")).read_text()
    assert page.count("<article>") == 9 and page.count('<img src="data:image/') == 18
    assert page.count("<li") == 18 and page.count(">true of image") == 18
    assert "http" not in re.sub(r"data:[^\"]*", "", page), "it needs nothing else"


def test_a_page_can_be_written_to_a_file_and_missing_pictures_are_said(tmp_path, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda address: 1 / 0)
    odd = grid_item("a", 1, 2, {(0, 0)}, kind="<b>kind</b>")
    shown = ta.show(benchmark_of([odd]), page=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert shown.page == tmp_path / "page.html" and "is missing" in page
    assert "<b>" not in page and "&lt;b&gt;kind" in page
    assert page.count('<li class="true">') == 1
