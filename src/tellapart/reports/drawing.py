"""Drawing of all charts: colours, fonts and files.

A chart is a Vega-Lite specification that includes its data, made for given colours. On a page, it
has the page's colours, light or dark; as a file, it has colours for print. Nothing is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tellapart.files import whole_file, write_text

WIDTH = 400
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
FORMS = ("svg", "png", "pdf")


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours of a chart; `series` also differ in their shapes."""

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

# Placeholders for the page's own colours: they are replaced by CSS variables once the SVG is drawn,
# so that one drawing serves both the light and the dark page.
_PLACEHOLDERS = {
    "#fe0001": "currentColor",
    "#fe0002": "var(--faint)",
    "#fe0003": "var(--accent)",
    **{f"#fe001{k}": f"var(--series-{k})" for k in range(1, 7)},
}
PAGE = Colours(
    "#fe0001", "#fe0002", "#fe0003", tuple(f"#fe001{k}" for k in range(1, 7)), "transparent"
)

Drawing = Callable[[Colours], dict[str, Any]]
"""A chart's specification, given colours."""


def config(colours: Colours) -> dict[str, Any]:
    """Fonts, axes and legends, the same in all charts."""
    return {
        "font": "sans-serif",
        "view": {"stroke": None},
        "text": {"color": colours.ink, "fontSize": 13},
        "title": {"color": colours.ink, "fontSize": 13, "fontWeight": 600, "anchor": "start"},
        "axis": {
            "labelColor": colours.faint, "titleColor": colours.faint, "titleFontWeight": 400,
            "labelFontSize": 12, "titleFontSize": 12, "domainColor": colours.faint,
            "tickColor": colours.faint, "domainOpacity": 0.5, "tickOpacity": 0.5,
        },
        "legend": {"labelColor": colours.ink, "labelFontSize": 13, "labelLimit": WIDTH - 30,
                   "symbolOpacity": 1, "symbolSize": 70},
    }  # fmt: skip


def page_svg(drawing: Drawing) -> str:
    """A chart as an SVG element with the page's colours and width."""
    svg = _convert("svg", drawing(PAGE))
    for placeholder, name in _PLACEHOLDERS.items():
        svg = svg.replace(f'"{placeholder}"', f'"{name}"')
    head, rest = svg.split(">", 1)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', head)
    size = f' width="{box[1]}" height="{box[2]}" viewBox="0 0 {box[1]} {box[2]}"' if box else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" focusable="false"{size}>{rest}'
    )


def write_drawing(drawing: Drawing, stem: Path, forms: Collection[str] = FORMS) -> list[Path]:
    """Write a chart as files: PNG (at twice the size) and SVG on white, and PDF.

    Their colours are for print; without the white they could not be read on a dark page.
    """
    white = drawing(replace(PRINT, background="white"))
    written = []
    for form in forms:
        path = stem.with_name(f"{stem.name}.{form}")
        if form == "svg":
            write_text(path, _convert("svg", white))
        else:
            data = (
                _convert("png", white, scale=2)
                if form == "png"
                else _convert("pdf", drawing(PRINT))
            )
            with whole_file(path) as partial:
                partial.write_bytes(data)
        written.append(path)
    return written


def _convert(kind: str, drawing: dict[str, Any], **more: Any) -> Any:
    import vl_convert

    convert = getattr(vl_convert, f"vegalite_to_{kind}")
    return convert(drawing, allowed_base_urls=[], **more)
