"""The campaign of analyses, small."""

from __future__ import annotations

from soak.analyses import coverage, rated, recall


def test_intervals_of_ratings_and_of_corrected_recall_hold_the_truth() -> None:
    assert coverage(rated, range(12))["ratings, mean"] >= 9 / 12
    assert coverage(recall, range(12))["recall-errors, corrected"] >= 9 / 12
