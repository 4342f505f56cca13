"""Fixed pairs: what is judged twice is judged by the two of one pair, and kappa is theirs."""

from __future__ import annotations

from collections import defaultdict

import polars as pl
import pytest

import tellapart as ta
from tellapart.errors import BadInput
from tellapart.study.effort import Crowd
from tellapart.verbs.build.bivlc import BivlcOptions
from tellapart.verbs.study.create import CreateStudyOptions, create_study
from tellapart.verbs.study.export import export_study
from tellapart.verbs.study.simulate import simulate_study


@pytest.fixture(scope="module")
def candidates(tmp_path_factory):
    place = tmp_path_factory.mktemp("pairs")
    world = ta.world(place / "world", scenes=16)
    return ta.build(
        "bivlc", world, place / "made", BivlcOptions(maker="world:?error=0.4", candidates=3)
    )


def test_candidates_can_be_asked_and_pairs_stay_together(candidates, tmp_path):
    options = CreateStudyOptions(recipe="bivlc", twice="0.6", pairs=True, training=False)
    create_study(candidates, tmp_path / "study", options)
    simulate_study(tmp_path / "study", Crowd(people=4, error=0.0))
    results = export_study(tmp_path / "study", tmp_path / "results").results
    judged = pl.read_parquet(tmp_path / "results" / "judgements.parquet")
    people = defaultdict(set)
    for item, person in judged.filter(pl.col("stage") == "best").select("item", "person").rows():
        people[item].add(person)
    together = [frozenset(both) for both in people.values() if len(both) == 2]
    assert together and len(set(together)) <= 2  # four people are two pairs
    assert len(set().union(*together)) == 2 * len(set(together))
    kappas = [row for row in results.agreement if row.about == "some or none"]
    assert kappas == [] or all(row.value >= 0.99 for row in kappas)


def test_pairs_without_anything_judged_twice_are_refused(candidates, tmp_path):
    with pytest.raises(BadInput, match="nothing to judge together"):
        options = CreateStudyOptions(recipe="bivlc", twice="0", judgements="1", pairs=True)
        create_study(candidates, tmp_path / "study", options)
