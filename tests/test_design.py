"""docs/design.md is true: its paths, its layers, and the ways that it describes."""

from __future__ import annotations

import json
import re
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from PIL import Image as Pillow

import tellapart as ta

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "tellapart"
PAGE = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """A part of the page, up to the next title."""
    return re.split(r"\n## ", PAGE.split(f"\n## {title}\n")[1])[0]


def way(title: str) -> list[str]:
    """The files of a table, in its order."""
    return re.findall(r"^\| `([\w/]+\.\w+)` \|", section(title), re.MULTILINE)


def test_every_path_on_the_page_exists():
    paths = re.findall(r"`([\w./]+(?:/\w*|\.(?:py|js|toml|md)))`", PAGE)
    roots = (ROOT, ROOT / "docs", SOURCE)
    missing = {path for path in paths if not any((root / path).exists() for root in roots)}
    assert len(paths) > 60 and missing == {"study.toml"}, "study.toml is in a study's folder"


def test_every_package_and_every_module_at_the_top_is_on_the_page():
    inside = {path for path in SOURCE.iterdir() if not path.name.startswith(("_", "."))}
    packages = {path.name for path in inside if (path / "__init__.py").exists()}
    modules = {path.stem for path in inside if path.suffix == ".py"}
    assert {name for line in layers() for name in line} == packages | modules
    nested = {path.parent.name for path in SOURCE.glob("*/*/__init__.py")}
    mentioned = {name for name in nested if re.search(rf"\b{name}/", PAGE)}
    assert nested - mentioned <= {"foil", "mcic", "negatives", "neighbours"}, "parts of mine/"


def layers() -> list[list[str]]:
    """The names in each line of the picture of layers."""
    picture = re.search(r"```\n(cli/.*?)```", section("Layers"), re.DOTALL)
    assert picture
    heads = [re.split(r"\s{2,}", line)[0] for line in picture.group(1).splitlines()]
    return [[name.strip(" /") for name in head.split(",")] for head in heads]


def test_the_layers_on_the_page_are_those_that_are_checked():
    setup = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = setup["tool"]["importlinter"]["contracts"][0]["layers"]
    checked = [re.findall(r"tellapart\.(\w+)", line) for line in contract]
    assert checked == layers()


@pytest.mark.parametrize("title", ["The way of a BISON item", "The way of a judgement"])
def test_no_place_on_the_way_is_visited_twice(title):
    files = way(title)
    assert len(files) > 20 and len(set(files)) == len(files)


@contextmanager
def files_entered() -> Iterator[set[str]]:
    """The files of the package in which a function is called while the block lasts."""
    entered: set[str] = set()
    home = f"{SOURCE}/"

    def note(frame, event, argument):
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(home):
            entered.add(code.co_filename.removeprefix(home))

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield entered
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def bison_file(folder: Path) -> Path:
    """Four BISON items as the authors release them, one of them with more white space."""
    for name in "0123":
        Pillow.new("RGB", (8, 8), ("red", "green", "blue", "white")[int(name)]).save(
            folder / f"{name}.png"
        )
    images = [{"image_id": k, "image_filename": f"{k}.png"} for k in range(4)]
    rows = [
        {
            "bison_id": k,
            "caption": f"A thing of colour {k}.",
            "image_candidates": [images[k], images[(k + 1) % 4]],
            "true_image_id": str(k) if k == 3 else k,
        }
        for k in range(4)
    ]
    path = folder / "bison.json"
    path.write_text(json.dumps({"data": rows}))
    return path


def test_a_bison_item_goes_the_way_of_the_page(tmp_path):
    source = bison_file(tmp_path)
    with files_entered() as entered:
        benchmark = ta.get("bison", source, tmp_path / "bison")
        runs = ta.evaluate("storybook", on=benchmark, out=tmp_path / "runs")
        print(ta.measure(runs, ties="half"))
        ta.report(runs, tmp_path / "report.html")
    assert len(benchmark.items) == 4
    assert [path for path in way("The way of a BISON item") if path not in entered] == []


def test_a_judgement_goes_the_way_of_the_page(tmp_path, benchmarks):
    pytest.importorskip("fastapi")
    few = ta.subset(benchmarks["bison"], tmp_path / "few", ta.SubsetOptions(limit=3))
    options = ta.CreateStudyOptions(ask="which-image", keep="all", judgements="2")
    with files_entered() as entered:
        ta.create_study(few, tmp_path / "study", options)
        ta.simulate_study(tmp_path / "study", ta.Crowd(people=2, error=0.0))
        ta.export_study(tmp_path / "study", tmp_path / "out")
    python = {path for path in way("The way of a judgement") if path.endswith(".py")}
    # The verb `serve` ends with its process; `simulate` puts the same server into a thread.
    assert python - entered == {"verbs/study/serve.py"}
    assert len(ta.load_benchmark(tmp_path / "out" / "verified").items) == 3
