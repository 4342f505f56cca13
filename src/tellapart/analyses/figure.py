"""Figures: panels of dots with intervals, lines with bands, or bars; drawn as Vega-Lite.

A panel holds its numbers as rows: `x`, `y`, `low`, `high`, `series`. Everything it shows is also
said in words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tellapart.reports.charts import short
from tellapart.reports.drawing import SHAPES, WIDTH, Colours, config
from tellapart.types import Floats

Numbers = Sequence[float] | Floats
Form = Literal["dots", "lines", "bars", "points"]
ROW_HEIGHT = 26
HEIGHT = 220
BAND = " (band: 95% interval)"
MOST_BANDS = 4
"""The bands of more series than this would hide each other; their intervals are in the tables."""
TICKS = 6
"""About this many ticks on an axis of numbers, so that labels stand apart."""
ABOVE, BELOW, RIGHT, LEFT = (0, -11), (0, 13), (9, 4), (-9, 4)
"""Where a point's label stands, as an offset in pixels, in the order of preference."""
APART = ("color", "shape", "xOffset", "yOffset")
"""Channels with a separate scale in each panel; without this, grouped bars would share offsets."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of a figure.

    `dots`: a row for each `label`, with a value and its interval along x, one colour per series.
    `lines`: y with a band against x. `bars`: y for each label, side by side by series. `points`: y
    against x. `reference` draws a line across, such as no effect or chance; `ticks` labels a
    logarithmic axis by hand.
    """

    form: Form
    rows: tuple[Mapping[str, Any], ...]
    x: str
    y: str = ""
    title: str = ""
    reference: float | None = None
    log: bool = False
    domain: tuple[float, float] | None = None

    @property
    def series(self) -> list[str]:
        """The names of the series, in the order of the rows."""
        return list(dict.fromkeys(str(row.get("series", "")) for row in self.rows))

    @property
    def labels(self) -> list[str]:
        """The names of the rows, in order."""
        return list(dict.fromkeys(str(row["label"]) for row in self.rows))


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels stacked vertically, and a description in words."""

    title: str
    words: str
    panels: tuple[Panel, ...]
    columns: int = 1

    def drawing(self, colours: Colours) -> dict[str, Any]:
        """The Vega-Lite specification in these colours."""
        panels = [_panel(panel, colours, self.columns) for panel in self.panels]
        # Names stand left of the view; a page's font may be wider than the one used to measure.
        names = [name for panel in self.panels if panel.form == "dots" for name in panel.labels]
        left = 12 + max(map(len, names), default=0)
        return {
            "padding": {"left": left, "right": 14, "top": 4, "bottom": 4},
            "background": colours.background,
            "columns": self.columns,
            "concat": panels,
            "resolve": {"scale": dict.fromkeys(APART, "independent")},
            "spacing": 28,
            "config": config(colours),
        }


def _panel(panel: Panel, colours: Colours, columns: int) -> dict[str, Any]:
    layers = {"dots": _dots, "lines": _lines, "bars": _bars, "points": _points}[panel.form](
        panel, colours
    )
    width = WIDTH if columns == 1 else round(WIDTH * 0.62)
    height = HEIGHT
    if panel.form == "dots":
        rows = len(panel.labels)
        height = rows * max(ROW_HEIGHT, 10 + 11 * len(panel.series))
    made = {"width": width, "height": height, "layer": layers, "data": {"values": _data(panel)}}
    return {**made, "title": panel.title} if panel.title else made


def _data(panel: Panel) -> list[dict[str, Any]]:
    return [{"series": "", **row} for row in panel.rows]


def _colour(panel: Panel, colours: Colours, what: str) -> dict[str, Any]:
    """The colour (or shape) of a series, with a legend if there are several."""
    names = panel.series
    if len(names) < 2:
        return {"value": colours.accent if what == "color" else "circle"}
    values = colours.series if what == "color" else SHAPES
    legend = {"orient": "top", "direction": "vertical", "title": None, "columnPadding": 24,
              "columns": 2 if max(map(len, names)) <= 22 else 1}  # fmt: skip
    return {
        "field": "series", "type": "nominal", "legend": legend,
        "scale": {"domain": names, "range": [values[k % len(values)] for k in range(len(names))]},
    }  # fmt: skip


def _scale(panel: Panel, *, zero: bool = False) -> dict[str, Any]:
    scale: dict[str, Any] = {"zero": zero, "nice": not panel.log, "padding": 6}
    if panel.log:
        scale["type"] = "log"
    if panel.domain is not None:
        scale |= {"domain": list(panel.domain), "nice": False}
    return scale


def _across(panel: Panel, colours: Colours, axis: str) -> list[dict[str, Any]]:
    if panel.reference is None:
        return []
    rule = {"type": "rule", "color": colours.faint, "strokeDash": [4, 3]}
    return [{"data": {"values": [{"at": panel.reference}]}, "mark": rule,
             "encoding": {axis: {"field": "at", "type": "quantitative"}}}]  # fmt: skip


def _dots(panel: Panel, colours: Colours) -> list[dict[str, Any]]:
    names = panel.series
    y: dict[str, Any] = {
        "field": "label", "type": "nominal", "sort": panel.labels,
        "axis": {"title": None, "labelColor": colours.ink, "labelLimit": 230, "ticks": False,
                 "labelPadding": 12, "domain": False},
    }  # fmt: skip
    if len(names) > 1:
        y_offset = {"yOffset": {"field": "series", "type": "nominal", "sort": names,
                                "scale": {"paddingOuter": 0.5}}}  # fmt: skip
    else:
        y_offset = {}
    x = {
        "field": "x", "type": "quantitative", "scale": _scale(panel),
        "axis": {"title": panel.x, "grid": False, "tickSize": 4,
                 **({} if panel.log or panel.domain else {"tickCount": TICKS})},
    }  # fmt: skip
    colour, shape = (_colour(panel, colours, what) for what in ("color", "shape"))
    return [
        *_across(panel, colours, "x"),
        {
            "mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.4, "strokeCap": "round"},
            "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, **y_offset,
                         "color": colour},
        },
        {
            "mark": {"type": "point", "size": 60, "filled": True, "opacity": 1},
            "encoding": {"x": x, "y": y, **y_offset, "color": colour, "shape": shape},
        },
    ]  # fmt: skip


def _axes(panel: Panel, padding: int = 8) -> tuple[dict[str, Any], dict[str, Any]]:
    x_scale: dict[str, Any] = {"zero": False, "nice": False, "padding": padding}
    if panel.log:
        x_scale["type"] = "log"
    axis: dict[str, Any] = {"title": panel.x, "grid": False}
    if panel.log:
        axis["values"] = _round_numbers([float(row["x"]) for row in panel.rows])
    else:
        axis["tickCount"] = TICKS
    if all(float(row["x"]).is_integer() for row in panel.rows):
        axis["tickMinStep"] = 1
    x = {"field": "x", "type": "quantitative", "axis": axis, "scale": x_scale}
    y_scale: dict[str, Any] = {"zero": False, "nice": True, "padding": padding - 8}
    if panel.domain is not None:
        y_scale |= {"domain": list(panel.domain), "nice": False}
    y = {"field": "y", "type": "quantitative", "axis": {"title": panel.y, "grid": False},
         "scale": y_scale}  # fmt: skip
    return x, y


def _round_numbers(values: Sequence[float]) -> list[float]:
    """1, 2, 5, 10, 20, ... within the values, for the ticks of a logarithmic axis.

    >>> _round_numbers([10, 150])
    [10.0, 20.0, 50.0, 100.0]
    """
    low, high = min(values), max(values)
    powers = range(int(np.floor(np.log10(low))), int(np.floor(np.log10(high))) + 1)
    numbers = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return [one for one in numbers if low <= one <= high]


def _lines(panel: Panel, colours: Colours) -> list[dict[str, Any]]:
    banded = len(panel.series) <= MOST_BANDS
    if not banded:
        panel = replace(panel, y=panel.y.replace(BAND, ""))
    x, y = _axes(panel)
    colour, shape = (_colour(panel, colours, what) for what in ("color", "shape"))
    band = {
        "mark": {"type": "area", "opacity": 0.2},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"},
                     "color": colour},
    }  # fmt: skip
    return [
        *_across(panel, colours, "y"),
        *([band] if banded else []),
        {"mark": {"type": "line", "strokeWidth": 2}, "encoding": {"x": x, "y": y, "color": colour}},
        {
            "mark": {"type": "point", "size": 50, "filled": True, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
        },
    ]  # fmt: skip


def _bars(panel: Panel, colours: Colours) -> list[dict[str, Any]]:
    x = {
        "field": "label", "type": "nominal", "sort": panel.labels,
        "axis": {"title": panel.x or None, "grid": False, **_label_style(panel.labels)},
    }  # fmt: skip
    offset = {"xOffset": {"field": "series", "type": "nominal",
                          "scale": {"domain": panel.series}}}  # fmt: skip
    y = {"field": "y", "type": "quantitative", "axis": {"title": panel.y, "grid": False},
         "scale": {"zero": True, "nice": True}}  # fmt: skip
    many = len(panel.series) > 1
    return [
        {
            "mark": {"type": "bar"},
            "encoding": {"x": x, "y": y, "color": _colour(panel, colours, "color"),
                         **(offset if many else {})},
        },
        *_across(panel, colours, "y"),
    ]  # fmt: skip


def _label_style(labels: Sequence[str]) -> dict[str, Any]:
    """Few or short labels are horizontal, others slanted; crowded numbers may be left out."""
    if all(label.rstrip("+").replace(".", "", 1).isdigit() for label in labels):
        return {"labelAngle": 0, "labelOverlap": True}
    wide = sum(map(len, labels)) > 40
    return {"labelAngle": -40 if wide else 0, "labelOverlap": False}


def _points(panel: Panel, colours: Colours) -> list[dict[str, Any]]:
    named = any(row.get("label") for row in panel.rows)
    x, y = _axes(panel, 24 if named else 8)
    colour, shape = (_colour(panel, colours, what) for what in ("color", "shape"))
    layers: list[dict[str, Any]] = [
        *_across(panel, colours, "y"),
        {
            "mark": {"type": "point", "size": 60, "filled": True, "opacity": 1},
            "encoding": {"x": x, "y": y, "color": colour, "shape": shape},
        },
    ]
    for place, rows in _label_places(panel.rows).items() if named else ():
        right, down = place
        align = "left" if right > 0 else "right" if right < 0 else "center"
        layers.append({
            "data": {"values": rows},
            "mark": {"type": "text", "dx": right, "dy": down, "align": align, "fontSize": 11,
                     "baseline": "alphabetic", "color": colours.ink},
            "encoding": {"x": x, "y": y, "text": {"field": "label"}},
        })  # fmt: skip
    return layers


def _label_places(
    rows: Sequence[Mapping[str, Any]],
) -> dict[tuple[int, int], list[Mapping[str, Any]]]:
    """Points by where their labels stand: where a label covers the fewest others and points."""
    spots = np.array([[row["x"], row["y"]] for row in rows], float)
    span = np.ptp(spots, axis=0)
    size = np.array([WIDTH - 48.0, HEIGHT - 32.0])
    spots = (spots - spots.min(axis=0)) / np.where(span > 0, span, 1.0) * size * [1, -1]
    boxes = [np.array([x - 5, y - 5, x + 5, y + 5]) for x, y in spots]
    placed: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for (x, y), row in zip(spots, rows, strict=True):
        wide = 6.0 * len(str(row.get("label", "")))
        best = None
        for right, down in (ABOVE, BELOW, RIGHT, LEFT):
            start = x + right - (wide / 2 if right == 0 else wide if right < 0 else 0.0)
            box = np.array([start, y + down - 9, start + wide, y + down + 2])
            covered = sum(_overlap(box, other) for other in boxes)
            outside = max(0.0, -24 - start) + max(0.0, start + wide - size[0] - 24)
            if best is None or covered + 10 * outside < best[0]:
                best = (covered + 10 * outside, (right, down), box)
        assert best is not None
        boxes.append(best[2])
        placed.setdefault(best[1], []).append(row)
    return placed


def _overlap(one: Floats, other: Floats) -> float:
    """The area that two boxes (left, top, right, bottom) share."""
    wide, high = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    return float(max(0.0, wide) * max(0.0, high))


def short_names(models: Sequence[str]) -> dict[str, str]:
    """Model strings cut to their last part, if the short names are still distinct.

    >>> short_names(["trained:a/scan-0", "trained:a/bow-0", "blind"])
    {'trained:a/scan-0': 'scan-0', 'trained:a/bow-0': 'bow-0', 'blind': 'blind'}
    >>> short_names(["trained:a/scan", "trained:b/scan"])
    {'trained:a/scan': 'trained:a/scan', 'trained:b/scan': 'trained:b/scan'}
    """
    last = {name: re.split(r"[/:]", name.partition("?")[0])[-1] for name in models}
    times = Counter(last.values())
    return {name: end if times[end] == 1 and end else name for name, end in last.items()}


def dot_rows(
    labels: Sequence[str], values: Numbers, lows: Numbers, highs: Numbers, series: str = ""
) -> list[dict[str, Any]]:
    """Rows of a panel of dots; long labels are cut in the middle."""
    columns = ([float(one) for one in column] for column in (values, lows, highs))
    return [
        {
            "label": short(label.replace("_", " "), 34),
            "x": value,
            "low": low,
            "high": high,
            "series": series,
        }
        for label, value, low, high in zip(labels, *columns, strict=True)
    ]
