"""Captions of an image that cast doubt on one another."""

from __future__ import annotations

import pytest

from tellapart.mine.agreement import DISAGREEMENTS, disagreements

pytest.importorskip("lemminflect", reason="lemminflect is not installed")


def doubt(caption: str, *others: str) -> str:
    """Why the first caption is not used beside the others."""
    return disagreements([caption, *others])[0]


@pytest.mark.parametrize(
    ("reason", "caption", "others"),
    [
        ("number", "Three dogs on a beach.", ["Dogs on a beach.", "Some dogs."]),
        ("number", "Three dogs on a beach.", ["3 dogs.", "Four dogs on a beach."]),
        ("gender", "A girl with a racket.", ["A woman smiles.", "A man.", "A boy.", "A guy."]),
        ("gender", "A boy with a dog.", ["A child with a dog.", "A dog."]),
        ("colour", "A white bus on a road.", ["A yellow bus.", "A bus on a road."]),
        ("posture", "A bird stands on a meter.", ["A bird sits on a meter.", "A bird."]),
        ("unknown word", "A smal dog.", ["A small dog.", "A dog."]),
        ("not fluent", "A dog on on a mat.", ["A dog on a mat."]),
    ],
)
def test_a_caption_that_others_doubt_is_not_used(
    reason: str, caption: str, others: list[str]
) -> None:
    assert reason in DISAGREEMENTS
    assert doubt(caption, *others) == reason


@pytest.mark.parametrize(
    ("caption", "others"),
    [
        ("Three dogs on a beach.", ["3 dogs.", "Some dogs on a beach."]),
        ("A man and a woman.", ["A man walks.", "A woman walks."]),
        ("A grey cat.", ["A gray cat on a mat.", "A black cat."]),
        ("A bird stands on a meter.", ["A bird standing.", "A bird sits on a meter."]),
        ("A dog resting on a mat.", ["A dog is asleep.", "A dog runs."]),
        ("A dog standing on a mat.", ["A dog on a mat."]),
        ("A zorse in a field.", ["The zorse is eating."]),
        ("Someone plays wii during the day.", ["A person plays."]),
    ],
)
def test_a_caption_that_others_bear_out_is_used(caption: str, others: list[str]) -> None:
    assert doubt(caption, *others) == ""


def test_an_only_caption_is_believed_if_it_is_fluent() -> None:
    assert doubt("Three brown girls stand by a smal bus.") == ""
    assert doubt("A dog on on a mat.") == "not fluent"
