"""The shape of the code: what CONTRIBUTING.md says of files, folders and names."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "tellapart"
FILES = sorted(SOURCE.rglob("*.py"))


def test_no_folder_has_more_than_twenty_files():
    files = Counter(path.parent for path in FILES if path.name != "__init__.py")
    assert {folder: n for folder, n in files.items() if n > 20} == {}


def test_no_file_is_longer_than_five_hundred_lines():
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {path: n for path, n in lines.items() if n > 500} == {}


def test_a_class_name_means_one_thing_in_the_whole_tree():
    names = Counter(
        node.name
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
    )
    assert {name for name, n in names.items() if n > 1} == set()
