"""Charts: their numbers and text alternatives, their design (Vega-Lite), and their files.

Each is drawn as SVG for the page, and as PNG, SVG and PDF files. Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tellapart.measures.overview import Overview, ReferenceLine, telling_lines
from tellapart.measures.scores import Estimate
from tellapart.reports.drawing import SHAPES, WIDTH, Colours, config, page_svg, write_drawing
from tellapart.reports.results import BenchmarkResults, Entry
from tellapart.reports.score_tables import file_name
from tellapart.text.table_text import percent

MAX_SERIES = 6
MOST_ROWS = 8
"""Maximum number of models per benchmark in the overview, the highest first."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart before it is drawn: its name, its text alternative and its data.

    `labels` name the rows from the top; a chart with `series` has several dots per row, one with
    `heads` has a heading above each benchmark's rows, and `lines` through them.
    """

    name: str
    title: str
    words: str
    rows: tuple[dict[str, Any], ...]
    measure: str
    labels: tuple[str, ...]
    series: tuple[str, ...] = ()
    heads: tuple[dict[str, Any], ...] = ()
    lines: tuple[dict[str, Any], ...] = ()


def overview_chart(overview: Overview) -> Chart | None:
    """Every benchmark's main measure: a dot and an interval per model, with reference lines."""
    rows: list[dict[str, Any]] = []
    heads, lines, words = [], [], []
    y = 0
    for column in overview.columns:
        own = [one for m in overview.models if (one := overview.estimate(m, column)) and one.n]
        shown = sorted(own, key=lambda one: -one.value)[:MOST_ROWS]
        if not shown:
            continue
        measure = overview.shown(column)
        heads.append({"y": y, "name": f"{column.benchmark}: {measure}"})
        for place, one in enumerate(shown, 1):
            label = short(one.model, 26) + overview.way(one, column)
            rows.append({"y": y + place, "label": label, **_numbers(one)})
        through = [line for line in overview.lines if line.benchmark == column.benchmark]
        lines += _drawn_lines(through, y, y + len(shown))
        scores = ", ".join(f"{short(one.model)} {percent(one.value)}" for one in shown)
        levels = ", ".join(f"{line.label} {percent(line.value)}" for line in through)
        words.append(f"{column.benchmark}, {measure}: {scores}; lines: {levels}")
        y += len(shown) + 1
    if not rows:
        return None
    alternative = f"Main measures in percent. {'. '.join(words)}."
    title = "Every model on every benchmark, by its main measure"
    count = tuple(str(k) for k in range(y))
    return Chart(
        "overview", title, alternative, tuple(rows), "", count, (), tuple(heads), tuple(lines)
    )


def _drawn_lines(through: Sequence[ReferenceLine], top: int, bottom: int) -> list[dict[str, Any]]:
    """Chance, and the strongest other line if it is above chance; more lines would be clutter."""
    drawn = telling_lines(through)
    right = max(drawn, key=lambda line: line.value, default=None)
    return [
        {
            "top": top + 0.42, "bottom": bottom + 0.5, "head": top,
            "value": round(100 * line.value, 3),
            "chance": line.label == "chance", "right": line is right,
            "text": f"{line.label} {percent(line.value)}",
        }
        for line in drawn
    ]  # fmt: skip


def main_chart(results: BenchmarkResults) -> Chart | None:
    """The main measure of a benchmark: a dot and an interval per model."""
    measure = results.main.name
    shown = results.shown(measure)
    guess = results.guess
    named = [(short(entry.label), entry) for entry in (*results.entries, guess)]
    rows: list[dict[str, Any]] = [
        {"label": label, "blind": entry is guess, **_numbers(one)}
        for label, entry in named
        if (one := entry.estimate(measure)) is not None and one.n
    ]
    rows.sort(key=lambda row: (row["blind"], -row["value"]))
    rows = [{"y": place, **row} for place, row in enumerate(rows)]
    if not rows:
        return None
    values = [
        f"{row['label']} {row['value']:.1f} ({row['low']:.1f} to {row['high']:.1f})" for row in rows
    ]
    levels = sorted({round(row["chance"], 1) for row in rows})
    words = (
        f"{results.label}, {shown} in percent with 95% intervals: {'; '.join(values)}. "
        f"Chance: {' or '.join(f'{level:.1f}' for level in levels)}."
    )
    seen: set[float] = set()
    for row in rows:  # every chance level is labelled once, at its first occurrence
        level = round(row["chance"], 1)
        row["chance_label"] = "" if level in seen else f"chance {level:.1f}"
        seen.add(level)
    labels = tuple(row["label"] for row in rows)
    name = file_name(results.label, measure)
    return Chart(name, f"{results.label}: {shown}", words, tuple(rows), shown, labels)


def kinds_chart(results: BenchmarkResults) -> Chart | None:
    """The main measure by kind, for the best models and the strongest guess without looking."""
    measure = results.main.name
    shown = results.shown(measure)
    if len(results.kinds) < 2:
        return None
    best = best_entries(results, MAX_SERIES - 1)
    named = [(short(entry.label), entry) for entry in (*best, results.guess)]
    rows: list[dict[str, Any]] = []
    for place, (label, entry) in enumerate(named):
        offset = (place - (len(named) - 1) / 2) * 0.62 / len(named) + 0.1
        for number, kind in enumerate(results.kinds):
            one = entry.estimate(measure, kind)
            if one is not None and one.n:
                rows.append({"y": number + offset, "kind": number, "label": label, **_numbers(one)})
    if not rows:
        return None
    series = tuple(label for label, _ in named)
    by_model = []
    for label in series:
        own = (row for row in rows if row["label"] == label)
        values = ", ".join(f"{results.kinds[row['kind']]} {row['value']:.1f}" for row in own)
        by_model.append(f"{label}: {values}")
    words = f"{results.label}, {shown} in percent by kind: {'; '.join(by_model)}."
    name = file_name(results.label, measure, "by-kind")
    title = f"{results.label}: {shown} by kind"
    return Chart(name, title, words, tuple(rows), shown, results.kinds, series)


def best_entries(results: BenchmarkResults, most: int) -> list[Entry]:
    """The models with the highest main measure, in the order of the results."""
    scored = [(-one.value, k) for k, e in enumerate(results.entries)
              if (one := e.estimate(results.main.name))]  # fmt: skip
    return [results.entries[k] for k in sorted(k for _, k in sorted(scored)[:most])]


def short(label: str, most: int = 52) -> str:
    """A label that fits: long ones lose their middle, because their ends distinguish them.

    >>> short("a" * 30 + "b" * 30, 11)
    'aaaaa…bbbbb'
    """
    half = (most - 1) // 2
    return label if len(label) <= most else f"{label[:half]}…{label[-half:]}"


def _numbers(one: Estimate) -> dict[str, Any]:
    return {
        "value": round(100 * one.value, 3),
        "low": round(100 * one.low, 3),
        "high": round(100 * one.high, 3),
        "chance": round(100 * one.chance, 3),
        "text": percent(one.value),
    }


# The design of charts.


def spec(chart: Chart, colours: Colours) -> dict[str, Any]:
    """The Vega-Lite specification of a chart, including its data."""
    if chart.heads:
        return _overview_spec(chart, colours)
    return _kinds_spec(chart, colours) if chart.series else _main_spec(chart, colours)


def _x(field: str, chart: Chart) -> dict[str, Any]:
    title = f"{chart.measure}, %   (bar: 95% interval; dashed: chance)"
    axis = {"values": [0, 25, 50, 75, 100], "title": title, "grid": False, "tickSize": 4}
    scale = {"domain": [0, 100], "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _y(field: str, rows: int) -> dict[str, Any]:
    scale = {"domain": [-0.5, rows - 0.5], "reverse": True, "nice": False, "zero": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": None}


def _frame(chart: Chart, colours: Colours, row_height: int, layers: list[Any]) -> dict[str, Any]:
    return {
        "width": WIDTH,
        "height": row_height * len(chart.labels),
        "padding": {"left": 12, "right": 14, "top": 4, "bottom": 4},
        "background": colours.background,
        "layer": layers,
        "config": config(colours),
    }


def _chance_rule(chart: Chart, colours: Colours) -> dict[str, Any]:
    """The chance level as a dashed line, from the `top` to the `bottom` of each row."""
    band = {"y": _y("top", len(chart.labels)), "y2": {"field": "bottom"}}
    return {
        "mark": {"type": "rule", "color": colours.faint, "strokeDash": [4, 3]},
        "encoding": {"x": _x("chance", chart), **band},
    }


def _main_spec(chart: Chart, colours: Colours) -> dict[str, Any]:
    count, ink = len(chart.labels), colours.ink
    y = _y("y", count)
    colour = {"condition": {"test": "datum.blind", "value": colours.faint}, "value": colours.accent}
    shape = {"condition": {"test": "datum.blind", "value": "diamond"}, "value": "circle"}
    # The chance line stops before the next label, so that it crosses no text.
    rows = [
        {**row, "top": row["y"] - 0.1, "bottom": min(row["y"] + 0.5, count - 0.5)}
        for row in chart.rows
    ]
    layers = [
        _chance_rule(chart, colours),
        {
            "mark": {"type": "rule", "strokeWidth": 6, "opacity": 0.35, "strokeCap": "round"},
            "encoding": {"x": _x("low", chart), "x2": {"field": "high"}, "y": y, "color": colour},
        },
        {
            "mark": {"type": "point", "size": 90, "filled": True, "opacity": 1},
            "encoding": {"x": _x("value", chart), "y": y, "color": colour, "shape": shape},
        },
        {
            "mark": {"type": "text", "align": "left", "dy": -15},
            "encoding": {"text": {"field": "label"}, "x": {"value": 0}, "y": y},
        },
        {
            "mark": {"type": "text", "align": "right", "dy": -15, "fontWeight": 600, "color": ink},
            "encoding": {"text": {"field": "text"}, "x": {"value": WIDTH}, "y": y},
        },
        {
            "mark": {"type": "text", "dy": 9, "dx": 5, "align": "left", "baseline": "top",
                     "fontSize": 11, "color": colours.faint},
            "encoding": {"text": {"field": "chance_label"}, "x": _x("chance", chart), "y": y},
        },
    ]  # fmt: skip
    return {**_frame(chart, colours, 54, layers), "data": {"values": rows}}


def _overview_spec(chart: Chart, colours: Colours) -> dict[str, Any]:
    count = len(chart.labels)
    y = _y("y", count)
    x = {**_x("value", chart)}
    x["axis"] = {**x["axis"], "title": "%   (bar: 95% interval)"}
    other = colours.series[1]
    layers: list[Any] = []
    for is_chance, dash, colour in ((True, [4, 3], colours.faint), (False, [1.5, 2.5], other)):
        own = [line for line in chart.lines if line["chance"] == is_chance]
        band = {"y": _y("top", count), "y2": {"field": "bottom"}}
        layers.append({
            "data": {"values": own},
            "mark": {"type": "rule", "color": colour, "strokeDash": dash, "strokeWidth": 1.5},
            "encoding": {"x": x, **band},
        })  # fmt: skip
        for to_right in (True, False):
            some = [line for line in own if line["right"] == to_right]
            side = {"align": "left", "dx": -2} if to_right else {"align": "right", "dx": 2}
            layers.append({
                "data": {"values": some},
                "mark": {"type": "text", "fontSize": 11, "dy": 4, "color": colour, **side},
                "encoding": {"text": {"field": "text"}, "x": x, "y": _y("head", count)},
            })  # fmt: skip
    layers += [
        {
            "mark": {"type": "rule", "strokeWidth": 5, "opacity": 0.35, "strokeCap": "round",
                     "color": colours.accent},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y},
        },
        {
            "mark": {"type": "point", "size": 80, "filled": True, "opacity": 1,
                     "color": colours.accent},
            "encoding": {"x": x, "y": y},
        },
        {
            "mark": {"type": "text", "align": "right", "dx": -8},
            "encoding": {"text": {"field": "label"}, "x": {"value": 0}, "y": y},
        },
        {
            "mark": {"type": "text", "align": "left", "dx": 8, "fontWeight": 600},
            "encoding": {"text": {"field": "text"}, "x": {"value": WIDTH}, "y": y},
        },
        {
            "data": {"values": list(chart.heads)},
            "mark": {"type": "text", "align": "right", "dx": -8, "dy": 4, "fontWeight": 600},
            "encoding": {"text": {"field": "name"}, "x": {"value": 0}, "y": y},
        },
    ]  # fmt: skip
    frame = _frame(chart, colours, 22, layers)
    # Names are left of the plot; the page's font may be wider than the one used to measure them.
    frame["padding"] = {**frame["padding"], "left": 12 + max(len(h["name"]) for h in chart.heads)}
    return {**frame, "data": {"values": list(chart.rows)}}


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
    columns = 2 if max(map(len, domain)) <= 26 else 1
    legend = {"orient": "top", "direction": "vertical", "title": None, "columns": columns}
    colour, shape = (
        {"field": "label", "type": "nominal", "scale": {"domain": domain, "range": values},
         "legend": legend}
        for values in (picked, shapes)
    )  # fmt: skip
    names = [{"kind": k, "name": name, "top": k - 0.5} for k, name in enumerate(chart.labels)]
    layers = [
        _chance_rule(chart, colours),
        {
            "data": {"values": names},
            "mark": {
                "type": "text", "align": "left", "baseline": "top", "dy": 3, "fontWeight": 600,
            },
            "encoding": {"text": {"field": "name"}, "x": {"value": 0}, "y": _y("top", count)},
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
            "encoding": {
                "x": _x("value", chart), "y": _y("y", count), "color": colour, "shape": shape,
            },
        },
    ]  # fmt: skip
    return {**_frame(chart, colours, height, layers), "data": {"values": rows}}


# The chart as SVG and as files.


def svg_for_page(chart: Chart) -> str:
    """The chart as an SVG element with the page's colours and width."""
    return page_svg(lambda colours: spec(chart, colours))


def write_charts(charts: Sequence[Chart], folder: Path) -> None:
    """Each chart as PNG (white, at twice the size), SVG and PDF."""
    for chart in charts:
        write_drawing(partial(spec, chart), folder / chart.name)
