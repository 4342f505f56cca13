"""Options of a report; importing this module imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tellapart.options import Help, SkipBad


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Options of a report; `skip_bad` skips and lists runs that cannot be read."""

    title: Annotated[str, Help("Title of the page.")] = "tellapart report"
    ties: Annotated[str, Help("Count a tie as wrong (strict), half or right, or drop it.")] = (
        "wrong"
    )
    gallery: Annotated[int, Help("How many items to show with pictures.")] = 300
    charts: Annotated[Path | None, Help("Folder for the charts as PNG, SVG and PDF.")] = None
    latex: Annotated[Path | None, Help("Folder for the tables as LaTeX.")] = None
    on: Annotated[Path | str | None, Help("The runs' benchmark, if it has moved.")] = None
    skip_bad: SkipBad = False
