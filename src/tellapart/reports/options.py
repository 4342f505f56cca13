"""How a report is made; importing this imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tellapart.options import Help, SkipBad


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """How a report is made; `skip_bad` leaves out runs that cannot be read, and lists them."""

    title: Annotated[str, Help("The page's title.")] = "tellapart report"
    ties: Annotated[str, Help("A tie counts as: wrong (strict), half, right, drop.")] = "wrong"
    gallery: Annotated[int, Help("How many items to show with pictures.")] = 300
    charts: Annotated[Path | None, Help("Folder for each chart as PNG, SVG and PDF.")] = None
    latex: Annotated[Path | None, Help("Folder for each table as LaTeX.")] = None
    on: Annotated[Path | str | None, Help("The runs' benchmark, if it has moved.")] = None
    skip_bad: SkipBad = False
