"""The campaign of mutants: where it changes a module, and which tests a change faces."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

pytest.importorskip("cosmic_ray", reason="the soak extra is not installed")

from soak.mutation import Mutant, mutants_of
from soak.trial import Changed, Covering

TEXT = """
def larger(one: int = 1 + 1) -> int | None:
    assert one < 3
"""


def test_annotations_are_left_alone(tmp_path):
    (tmp_path / "a.py").write_text(TEXT)
    found = list(mutants_of(tmp_path / "a.py"))
    assert {one.line for one in found} == {2, 3}
    assert not any("Operator_BitOr_" in one.operator for one in found)
    assert all(one.source() != TEXT for one in found)


def test_a_line_faces_its_tests_quickest_first_and_on_one_database():
    seconds = {"a[postgresql]": 1.0, "a[sqlite]": 3.0, "b": 2.0, "c[postgresql]": 4.0}
    covering = Covering({"m.py:1": [], "m.py:2": list(seconds), "n.py:2": ["d"]}, seconds)
    wanted = ["b", "a[sqlite]", "c[postgresql]"]
    assert covering.of(Mutant(Path("m.py"), "any", 0, 2, 0)) == wanted
    assert covering.of(Mutant(Path("m.py"), "any", 0, 1, 0)) == wanted  # only its import runs it
    assert covering.of(Mutant(Path("m.py"), "any", 0, 3, 0)) == []


def test_of_many_tests_all_that_are_quick_are_run_and_of_slow_ones_the_quickest():
    for each, number in ((0.01, 200), (0.5, 60), (1.0, 39), (50.0, 1)):
        seconds = {f"t{k}": each + k / 1e6 for k in range(200)}
        covering = Covering({"m.py:2": list(seconds)[::-1]}, seconds)
        assert covering.of(Mutant(Path("m.py"), "any", 0, 2, 0)) == list(seconds)[:number]


def test_a_changed_module_is_imported_instead_of_its_file(monkeypatch):
    name, package = "tellapart.study.effort", importlib.import_module("tellapart.study")
    path = Path(importlib.import_module(name).__file__)
    monkeypatch.setattr(package, "effort", package.effort)  # put back, as all else
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.delitem(sys.modules, name)
    Changed(path, "LEAST = 'changed'").pytest_sessionstart()
    assert importlib.import_module(name).LEAST == "changed"
    assert "changed" not in path.read_text(encoding="utf-8")
