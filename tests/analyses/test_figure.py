"""Figures: names of points that stand apart, and axes that can be read."""

from __future__ import annotations

import re

from tellapart.analyses.figure import BAND, Figure, Panel
from tellapart.reports.drawing import PRINT, page_svg, write_drawing


def labels(rows):
    panel = Panel("points", tuple(rows), "one", "two")
    (drawn,) = Figure("t", "w", (panel,)).drawing(PRINT)["concat"]
    texts = [layer for layer in drawn["layer"] if layer["mark"]["type"] == "text"]
    return {row["label"]: (layer["mark"]["dx"], layer["mark"]["dy"])
            for layer in texts for row in layer["data"]["values"]}  # fmt: skip


def test_points_next_to_each_other_do_not_write_over_each_other():
    near = labels([{"x": 54.0, "y": 66.9, "label": "Obj+BiGRU"},
                   {"x": 54.1, "y": 67.5, "label": "SCAN t2i"},
                   {"x": 45.2, "y": 56.6, "label": "ConvNet+BoW"}])  # fmt: skip
    assert set(near) == {"Obj+BiGRU", "SCAN t2i", "ConvNet+BoW"}, "each has its name once"
    assert near["Obj+BiGRU"] != near["SCAN t2i"]


def test_points_without_a_spread_have_names_too():
    assert set(labels([{"x": 1.0, "y": 2.0, "label": "only"}])) == {"only"}
    same = labels([{"x": 1.0, "y": 2.0, "label": "a"}, {"x": 1.0, "y": 2.0, "label": "b"}])
    assert same["a"] != same["b"]


def test_an_axis_of_kappas_has_few_ticks():
    rows = ({"label": "a / b", "x": 0.55, "low": -0.04, "high": 0.6},)
    (drawn,) = Figure("t", "w", (Panel("dots", rows, "kappa", reference=0.0),)).drawing(PRINT)[
        "concat"
    ]
    assert drawn["layer"][-1]["encoding"]["x"]["axis"]["tickCount"] <= 6


def test_bands_that_would_hide_each_other_are_left_out_and_not_promised():
    def drawn(models):
        rows = tuple({"x": k, "y": 5.0, "low": 1.0, "high": 9.0, "series": f"m{m}"}
                     for m in range(models) for k in range(3))  # fmt: skip
        panel = Panel("lines", rows, "place", f"accuracy, %{BAND}")
        (made,) = Figure("t", "w", (panel,)).drawing(PRINT)["concat"]
        marks = [layer["mark"]["type"] for layer in made["layer"]]
        return "area" in marks, made["layer"][-1]["encoding"]["y"]["axis"]["title"]

    assert drawn(3) == (True, "accuracy, % (band: 95% interval)")
    assert drawn(7) == (False, "accuracy, %")


def test_a_figure_as_a_file_has_a_ground_of_its_own_and_on_a_page_has_none(tmp_path):
    rows = ({"label": "a", "x": 1.0, "low": 0.5, "high": 1.5},)
    figure = Figure("t", "w", (Panel("dots", rows, "kappa"),))
    write_drawing(figure.drawing, tmp_path / "one", ("svg",))
    ground = '<rect width="{0}" height="{1}" fill="white"'
    drawn = (tmp_path / "one.svg").read_text()
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', drawn)
    assert size and ground.format(*size.groups()) in drawn
    assert 'fill="white"' not in page_svg(figure.drawing)
