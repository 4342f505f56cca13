"""Captions in one form."""

from __future__ import annotations

import json

import tellapart as ta
from tellapart.text.english import alike


def test_pitfall_5_captions_can_be_formatted_alike(tmp_path):
    rows = {
        "0": {"filename": "000000000001.jpg", "caption": "a DOG ", "negative_caption": "A cat."},
        "1": {
            "filename": "000000000002.jpg",
            "caption": "Two dogs",
            "negative_caption": "Two cats.",
        },
    }
    path = tmp_path / "replace_obj.json"
    path.write_text(json.dumps(rows))
    plain = ta.get("sugarcrepe", path, tmp_path / "plain")
    formed = ta.get("sugarcrepe", path, tmp_path / "alike", ta.GetOptions(alike=True))
    assert {c for item in formed.items for c in item.captions} == {
        "A dog.", "A cat.", "Two dogs.", "Two cats.",
    }  # fmt: skip
    assert formed.card.made["options"]["alike"] is True
    assert formed.sha256 != plain.sha256 and set(formed.by_id) == set(plain.by_id)
    assert ta.validate(formed, look=False).good


def test_marks_and_spaces_are_kept_single():
    assert alike("What is  this?") == "What is this?"
    assert alike("x") == "X."
