"""The campaign of fairness, small."""

from __future__ import annotations

from soak.fairness import campaign, holds_chance


def test_where_nothing_gives_the_truth_away_chance_is_inside_the_interval() -> None:
    hits = campaign(0, 3, items=100)
    assert sum(map(holds_chance, hits)) >= 2
    assert all(hit.n >= 90 and hit.low < hit.value < hit.high for hit in hits)
