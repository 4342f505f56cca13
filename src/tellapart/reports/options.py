"""What a user may choose about a report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class ReportOptions:
    """How a report is made.

    `ties` is the rule for models (`wrong`, `half`, `right`, `drop`). `gallery` is how many items
    are shown in all, 0 for none. `charts` and `latex` are folders for the charts as PNG, SVG and
    PDF and for the tables as LaTeX. `on` names the benchmark where it is not where it was.
    `skip_bad` leaves out runs that cannot be read, and lists them.
    """

    title: str = "tellapart report"
    ties: str = "wrong"
    gallery: int = 300
    charts: Path | None = None
    latex: Path | None = None
    on: Path | None = None
    skip_bad: bool = False
    progress: Progress = lambda done, total: None


class Steps:
    """Counts steps for a progress bar: `total` is known before the first step is done."""

    def __init__(self, total: int, progress: Progress) -> None:
        self.done, self.total, self._progress = 0, total, progress

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        self._progress(self.done, self.total)
