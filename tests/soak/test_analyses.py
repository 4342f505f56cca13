"""The campaign of analyses, small."""

from __future__ import annotations

from soak.analyses import agreed, captioned, coverage, position, rated, recall


def test_intervals_of_ratings_and_of_corrected_recall_hold_the_truth() -> None:
    assert coverage(rated, range(12))["ratings, mean"] >= 9 / 12
    assert coverage(recall, range(12))["recall-errors, corrected"] >= 9 / 12


def test_intervals_of_correlation_area_and_kappa_hold_planted_and_absent_effects() -> None:
    for campaign in (position, captioned, agreed):
        for name, share in coverage(campaign, range(12)).items():
            assert share >= 9 / 12, name
