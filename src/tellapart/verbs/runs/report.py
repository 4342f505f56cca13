"""The verb `report`: one HTML page about runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tellapart.options import Help
from tellapart.reports.options import ReportOptions
from tellapart.types import Progress, silent
from tellapart.verbs import Verb
from tellapart.verbs.runs.measure import Runs


def report(
    runs: Runs,
    out: Annotated[Path | str, Help("The HTML file to write.", flag="--out")],
    options: ReportOptions = ReportOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Path:
    """Write a report: one self-contained HTML file.

    In Python: returns the path. The same runs give the same bytes.
    """
    from tellapart.reports.report import write_report

    return write_report(runs, out, options, progress)


VERB = Verb(
    report,
    example="tellapart report runs --out report.html",
    text=lambda path: f"report  ->  {path}",
    json=lambda path: {"report": str(path)},
)
