"""Training curves for runs of systems trained here: the loss and the measure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tellapart.errors import BadInput
from tellapart.files import read_json, read_text
from tellapart.reports.drawing import WIDTH, Colours, config, page_svg
from tellapart.score.run import Run

SCHEME = "trained:"


@dataclass(frozen=True, slots=True)
class TrainingCurves:
    """The curves of one training; `losses` and `measured` are pairs (epochs done, value)."""

    name: str
    measure: str
    losses: tuple[tuple[float, float], ...]
    measured: tuple[tuple[float, float], ...]

    @property
    def words(self) -> str:
        """The text alternative of the curves."""
        first, last = self.losses[0][1], self.losses[-1][1]
        best = max(self.measured, key=lambda point: point[1])
        return (
            f"{self.name}: the loss goes from {first:.3g} to {last:.3g}; {self.measure} on "
            f"validation is highest after epoch {best[0]:g}, with {best[1]:.4g}"
        )

    def spec(self, colours: Colours) -> dict[str, Any]:
        """The loss above the measure, by epoch."""
        panels = [
            _panel(f"loss of {self.name}", self.losses, colours.faint),
            _panel(f"{self.measure} on validation", self.measured, colours.accent, points=True),
        ]
        return {"background": colours.background, "vconcat": panels, "config": config(colours)}

    def svg(self) -> str:
        """Both curves as an SVG element with the page's colours."""
        return page_svg(self.spec)


def _panel(
    title: str, points_of: Sequence[tuple[float, float]], colour: str, *, points: bool = False
) -> dict[str, Any]:
    rows = [{"epoch": epoch, "value": value} for epoch, value in points_of]
    y = {"field": "value", "type": "quantitative", "scale": {"zero": False}, "title": None}
    x = {"field": "epoch", "type": "quantitative", "axis": {"title": "epochs", "tickCount": 6}}
    return {
        "title": title,
        "width": WIDTH,
        "height": 110,
        "data": {"values": rows},
        "mark": {"type": "line", "color": colour, "point": {"color": colour} if points else False},
        "encoding": {"x": x, "y": y},
    }


def training_curves(runs: Sequence[Run]) -> tuple[TrainingCurves, ...]:
    """The curves of each trained system among the runs whose folder still exists."""
    names = dict.fromkeys(run.card.model.partition("?")[0] for run in runs)
    folders = [Path(name.removeprefix(SCHEME)) for name in names if name.startswith(SCHEME)]
    found = (_read(folder) for folder in folders if (folder / "metrics.jsonl").is_file())
    return tuple(one for one in found if one is not None)


def _read(folder: Path) -> TrainingCurves | None:
    try:
        trained = read_json(folder / "system.json")["trained"]
        rows = [json.loads(line) for line in read_text(folder / "metrics.jsonl").splitlines()]
        measure = trained.get("measure") or next(iter(trained["validation"]))
        # An epoch ends with a validation, whose step number is the number of steps per epoch.
        steps = max(row["step"] for row in rows)
        losses, measured = (
            [(row["epoch"] - 1 + row["step"] / steps, row[name]) for row in rows if name in row]
            for name in ("loss", measure)
        )
    except (BadInput, KeyError, TypeError, ValueError, StopIteration):
        return None  # a report on runs must not depend on training files
    if not losses or not measured:
        return None
    return TrainingCurves(folder.name, measure, tuple(losses), tuple(measured))
