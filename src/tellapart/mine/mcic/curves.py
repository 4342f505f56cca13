"""The tuning curves, as a picture and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tellapart.mine.mcic.tuning import Trial
from tellapart.text.table_text import aligned


def trial_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Trials as they stand in the card, the best of each rank marked."""
    lowest: dict[str, float] = {}
    for row in rows:
        lowest[row["measure"]] = min(row["rank"], lowest.get(row["measure"], row["rank"]))
    shown = [("tuned by", "setting", "rank", "found")]
    for row in rows:
        told = {k: v for k, v in row.items() if k not in ("measure", "rank", "found")}
        setting = ", ".join(f"{name} {value:g}" for name, value in told.items())
        mark = " *" if row["rank"] == lowest[row["measure"]] else ""
        rank, found = f"{row['rank']:.1f}", f"{row['found']:.1%}"
        shown.append((row["measure"], setting + mark, rank, found))
    return aligned(shown, {0, 1})


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
        "y": {
            "field": "rank",
            "type": "quantitative",
            "title": f"{measure} (lower is better)",
            "scale": {"zero": False},
        },
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
