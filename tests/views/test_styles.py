"""Styles of the view: they leave the card alone that report, view and study share."""

from __future__ import annotations

import re
from pathlib import Path

import tellapart.views
from tellapart.web import shared_text

VIEW = Path(tellapart.views.__file__).parent / "static" / "view.css"


def test_the_table_of_answers_stays_a_table():
    """A class of the view's own with one of the table's names would lay its parts out anew."""
    (made,) = re.findall(r'element\("table", \{ class: `([^`]+)`', shared_text("static", "card.js"))
    names = re.findall(r"answers|(?<=\" )\w+", made)
    assert {"answers", "many", "written"} == set(names)
    bare = re.compile(rf"^\s*\.({'|'.join(names)})\s*\{{", re.MULTILINE)
    assert not bare.findall(VIEW.read_text(encoding="utf-8"))
