"""The tuning curves as a picture: mean ranks against epochs, by dimensions, and against lambda."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tellapart.mine.mcic.tuning import Trial


def draw_curves(trials: Sequence[Trial]) -> str:
    """An SVG with a panel for each rank that was tuned by."""
    import vl_convert

    panels = []
    for measure, across in (("mgs-rank", "epochs"), ("wmgs-rank", "lambda")):
        points = [
            {"rank": trial.rank, **trial.setting} for trial in trials if trial.measure == measure
        ]
        if points:
            panels.append(_panel(measure, across, points))
    drawing = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "hconcat": panels,
        "config": {"view": {"stroke": None}, "font": "sans-serif"},
    }
    svg: str = vl_convert.vegalite_to_svg(drawing, allowed_base_urls=[])
    return svg


def _panel(measure: str, across: str, points: list[dict[str, Any]]) -> dict[str, Any]:
    encoding: dict[str, Any] = {
        "x": {"field": across, "type": "quantitative", "title": across},
        "y": {"field": "rank", "type": "quantitative", "title": f"{measure} (lower is better)"},
    }
    if len({point.get("dimensions") for point in points}) > 1:
        encoding["color"] = {"field": "dimensions", "type": "nominal"}
    return {
        "width": 300,
        "height": 220,
        "data": {"values": points},
        "mark": {"type": "line", "point": True},
        "encoding": encoding,
    }
