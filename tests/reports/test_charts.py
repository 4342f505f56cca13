"""Charts: data inside, nothing fetched, names escaped, colours of the page."""

from __future__ import annotations

import json
import re

from tellapart.reports.charts import (
    kinds_chart,
    main_chart,
    short,
    spec,
    svg_for_page,
    write_charts,
)
from tellapart.reports.drawing import PAGE, PRINT
from tellapart.reports.results import StepCounter, measure_runs
from tellapart.reports.summary import BISON, BIVLC, FOIL, MCIC, family
from tellapart.types import silent


def test_a_chart_is_sorted_with_text_only_last(results_of, an_estimate):
    models = {"low": an_estimate(0.6, 0.5, 0.7), "high": an_estimate(0.9, 0.8, 1.0)}
    chart = main_chart(results_of(models))
    assert chart.labels == ("high", "low", "text-only")
    assert "high 90.0 (80.0 to 100.0); low 60.0 (50.0 to 70.0)" in chart.words
    assert chart.words.endswith("Chance: 50.0.")


def test_names_in_charts_are_text(results_of, an_estimate):
    chart = main_chart(
        results_of({'</text><script>alert("1")</script>': an_estimate(0.9, 0.8, 1.0)})
    )
    svg = svg_for_page(chart)
    assert "<script" not in svg
    assert "&lt;script&gt;" in svg


def test_the_svg_takes_the_colours_of_the_page_and_asks_for_nothing(made):
    (results,) = measure_runs(made.on("bivlc"), "wrong", False, StepCounter(0, silent))
    for chart in (main_chart(results), kinds_chart(results)):
        svg = svg_for_page(chart)
        assert "#fe00" not in svg
        assert "currentColor" in svg
        assert "var(--" in svg
        assert not re.search(r"(href|url\(|@import|<image|<style)", svg)
        for colours in (PAGE, PRINT):
            text = json.dumps(spec(chart, colours))
            assert '"url"' not in text
            assert "http" not in text


def test_files_are_written_in_three_formats(made, tmp_path):
    (results,) = measure_runs(made.on("bison"), "wrong", False, StepCounter(0, silent))
    write_charts([main_chart(results)], tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "bison-accuracy.pdf",
        "bison-accuracy.png",
        "bison-accuracy.svg",
    ]
    assert (tmp_path / "bison-accuracy.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "bison-accuracy.pdf").read_bytes().startswith(b"%PDF")


def test_long_names_keep_their_ends():
    assert short("open_clip:" + "x" * 80 + "?seed=2").endswith("?seed=2")
    assert len(short("x" * 200)) <= 52


def test_families_are_read_off_the_items(made):
    found = {run.benchmark.name: family(run.benchmark) for run in made.runs}
    assert found == {"bison": BISON, "mcic": MCIC, "foil": FOIL, "bivlc": BIVLC}
