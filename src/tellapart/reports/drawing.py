"""From chart to picture: SVG for the page, and PNG, SVG and PDF files. Nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tellapart.reports.charts import Chart
from tellapart.reports.specs import PRINT, Colours, spec
from tellapart.tables import whole_file, write_text

# Colours that stand for the page's own: they are exchanged for variables once the SVG is drawn,
# so that one drawing serves the light page and the dark one.
_PLACEHOLDERS = {
    "#fe0001": "currentColor",
    "#fe0002": "var(--faint)",
    "#fe0003": "var(--accent)",
    **{f"#fe001{k}": f"var(--series-{k})" for k in range(1, 7)},
}
PAGE = Colours(
    "#fe0001", "#fe0002", "#fe0003", tuple(f"#fe001{k}" for k in range(1, 7)), "transparent"
)


def svg_for_page(chart: Chart) -> str:
    """The chart as an SVG element that takes the page's colours and its width."""
    svg = _convert("svg", spec(chart, PAGE))
    for placeholder, name in _PLACEHOLDERS.items():
        svg = svg.replace(f'"{placeholder}"', f'"{name}"')
    head, rest = svg.split(">", 1)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    size = f' width="{box[1]}" height="{box[2]}" viewBox="0 0 {box[1]} {box[2]}"' if box else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" focusable="false"{size}>{rest}'
    )


def write_charts(charts: Sequence[Chart], folder: Path) -> None:
    """Each chart as PNG (white, at twice the size), SVG and PDF."""
    for chart in charts:
        plain = spec(chart, PRINT)
        write_text(folder / f"{chart.name}.svg", _convert("svg", plain))
        white = spec(chart, replace(PRINT, background="white"))
        with whole_file(folder / f"{chart.name}.png") as partial:
            partial.write_bytes(_convert("png", white, scale=2))
        with whole_file(folder / f"{chart.name}.pdf") as partial:
            partial.write_bytes(_convert("pdf", plain))


def _convert(kind: str, drawing: dict[str, Any], **more: Any) -> Any:
    import vl_convert

    convert = getattr(vl_convert, f"vegalite_to_{kind}")
    return convert(drawing, allowed_base_urls=[], **more)
