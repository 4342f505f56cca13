"""How the charts look: Vega-Lite specifications as plain dicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tellapart.reports.charts import Chart

WIDTH = 400
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")


@dataclass(frozen=True, slots=True)
class Colours:
    """What a chart is drawn in; `series` are told apart by their shapes as well."""

    ink: str
    faint: str
    accent: str
    series: tuple[str, ...]
    background: str | None


PRINT = Colours(
    "#22262b",
    "#6b7075",
    "#0b6b7a",
    ("#0072b2", "#c24e00", "#00795a", "#a8487c", "#6b5b00", "#5a5f66"),
    None,
)


def spec(chart: Chart, colours: Colours) -> dict[str, Any]:
    """The specification of a chart; all data is inside."""
    return _kinds_spec(chart, colours) if chart.series else _main_spec(chart, colours)


def _x(field: str, chart: Chart) -> dict[str, Any]:
    title = f"{chart.measure}, %   (bar: 95% interval; dashed: chance)"
    axis = {"values": [0, 25, 50, 75, 100], "title": title, "grid": False, "tickSize": 4}
    scale = {"domain": [0, 100], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _y(field: str, rows: int) -> dict[str, Any]:
    scale = {"domain": [-0.5, rows - 0.5], "reverse": True, "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": None}


def _at(pixels: int) -> dict[str, Any]:
    return {"value": pixels}


def _frame(chart: Chart, colours: Colours, row_height: int, layers: list[Any]) -> dict[str, Any]:
    return {
        "width": WIDTH,
        "height": row_height * len(chart.labels),
        "padding": {"left": 12, "right": 14, "top": 4, "bottom": 4},
        "background": colours.background,
        "layer": layers,
        "config": {
            "font": "sans-serif",
            "view": {"stroke": None},
            "text": {"color": colours.ink, "fontSize": 13},
            "axis": {
                "labelColor": colours.faint, "titleColor": colours.faint, "titleFontWeight": 400,
                "labelFontSize": 12, "titleFontSize": 12, "domainColor": colours.faint,
                "tickColor": colours.faint, "domainOpacity": 0.5, "tickOpacity": 0.5,
            },
            "legend": {"labelColor": colours.ink, "labelFontSize": 13, "labelLimit": WIDTH - 30,
                       "symbolOpacity": 1, "symbolSize": 70},
        },
    }  # fmt: skip


def _main_spec(chart: Chart, colours: Colours) -> dict[str, Any]:
    count, ink = len(chart.labels), colours.ink
    y = _y("y", count)
    colour = {"condition": {"test": "datum.blind", "value": colours.faint}, "value": colours.accent}
    shape = {"condition": {"test": "datum.blind", "value": "diamond"}, "value": "circle"}
    # The rule of chance stops short of the next label, so that it crosses no text.
    rows = [
        {**row, "top": row["y"] - 0.1, "bottom": min(row["y"] + 0.5, count - 0.5)}
        for row in chart.rows
    ]
    x = _x("value", chart)
    low, high = _x("low", chart), {"field": "high"}
    band = {"y": _y("top", count), "y2": {"field": "bottom"}}
    layers = [
        {
            "mark": {"type": "rule", "color": colours.faint, "strokeDash": [4, 3]},
            "encoding": {"x": _x("chance", chart), **band},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 6, "opacity": 0.35, "strokeCap": "round"},
            "encoding": {"x": low, "x2": high, "y": y, "color": colour},
        },
        {
            "mark": {"type": "point", "size": 90, "filled": True, "opacity": 1},
            "encoding": {
                "x": x,
                "y": y,
                "color": colour,
                "shape": shape,
            },
        },
        {
            "mark": {"type": "text", "align": "left", "dy": -15},
            "encoding": {"text": {"field": "label"}, "x": _at(0), "y": y},
        },
        {
            "mark": {"type": "text", "align": "right", "dy": -15, "fontWeight": 600, "color": ink},
            "encoding": {"text": {"field": "text"}, "x": _at(WIDTH), "y": y},
        },
        {
            "mark": {"type": "text", "dy": 9, "dx": 5, "align": "left", "baseline": "top",
                     "fontSize": 11, "color": colours.faint},
            "encoding": {"text": {"field": "chance_label"}, "x": _x("chance", chart), "y": y},
        },
    ]  # fmt: skip
    return {**_frame(chart, colours, 54, layers), "data": {"values": rows}}


def _kinds_spec(chart: Chart, colours: Colours) -> dict[str, Any]:
    count = len(chart.labels)
    domain = list(chart.series)
    height = 26 + 11 * len(domain)
    rows = [
        {**row, "top": row["kind"] - 0.5 + 20 / height, "bottom": row["kind"] + 0.5}
        for row in chart.rows
    ]
    picked = [*colours.series[: len(domain) - 1], colours.series[-1]]
    shapes = [*SHAPES[: len(domain) - 1], SHAPES[-1]]
    legend = {"orient": "top", "direction": "vertical", "title": None, "columns": _columns(domain)}
    colour = {"field": "label", "type": "nominal", "scale": {"domain": domain, "range": picked},
              "legend": legend}  # fmt: skip
    shape = {"field": "label", "type": "nominal", "scale": {"domain": domain, "range": shapes},
             "legend": legend}  # fmt: skip
    x = _x("value", chart)
    band = {"y": _y("top", count), "y2": {"field": "bottom"}}
    names = [{"kind": k, "name": name, "top": k - 0.5} for k, name in enumerate(chart.labels)]
    layers = [
        {
            "mark": {"type": "rule", "color": colours.faint, "strokeDash": [4, 3]},
            "encoding": {"x": _x("chance", chart), **band},
        },
        {
            "data": {"values": names},
            "mark": {
                "type": "text", "align": "left", "baseline": "top", "dy": 3, "fontWeight": 600,
            },
            "encoding": {"text": {"field": "name"}, "x": _at(0), "y": _y("top", count)},
        },
        {
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.6},
            "encoding": {
                "x": _x("low", chart), "x2": {"field": "high"}, "y": _y("y", count),
                "color": colour,
            },
        },
        {
            "mark": {"type": "point", "size": 50, "filled": True, "opacity": 1},
            "encoding": {"x": x, "y": _y("y", count), "color": colour, "shape": shape},
        },
    ]  # fmt: skip
    return {**_frame(chart, colours, height, layers), "data": {"values": rows}}


def _columns(labels: Sequence[str]) -> int:
    return 2 if max(map(len, labels)) <= 26 else 1
