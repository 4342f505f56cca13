"""The notebooks run from top to bottom, and show what they promise."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("marimo", reason="needs the extra notebooks")

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
SHOWS = {
    "quick_start": ("storybook", "Group", "swap-attribute"),
    "own_model": ("colours", "storybook"),
    "analysis": ("supercategory", "accuracy"),
}
"""Each notebook, and words that what it ends with must have."""


def test_every_notebook_has_its_test():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SHOWS)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name",
    ["quick_start", *(pytest.param(one, marks=pytest.mark.campaign) for one in list(SHOWS)[1:])],
)
def test_a_notebook_runs_and_shows_its_scores(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    outputs, values = module.app.run()
    shown = "\n".join(map(str, outputs))
    assert all(word in shown for word in SHOWS[name]), shown
    if "scores" in values:
        rows = {row["model"]: row for row in values["scores"].to_json()}
        assert rows["storybook"]["n"] > 0 and not rows["storybook"]["failed"]
