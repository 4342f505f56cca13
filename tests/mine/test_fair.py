"""Fair parts: twins of which the opposite is true, and what attackers make of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tellapart as ta
from tellapart import seeds
from tellapart.attack.choices import paired_choices
from tellapart.attack.fairness import Candidates, FairPart, FairRecipe, matched
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.errors import BadInput
from tellapart.mine.fair import PairCandidate, as_candidates, fair_pairs
from tellapart.types import silent
from tellapart.verbs.build.foil import FoilOptions

HOME = {"dog": "on a sofa", "cow": "in a field"}
ANYWHERE = ("near a tree", "by the water", "in the rain")


def animals(count: int) -> tuple[Corpus, list[PairCandidate]]:
    """Dogs on sofas and cows in fields, which text tells apart, and both elsewhere."""
    rng = seeds.rng(0, "animals")
    captions, candidates = [], []
    for k in range(count):
        true, false = ("dog", "cow") if rng.random() < 0.5 else ("cow", "dog")
        known = rng.random() < 0.6
        place = HOME[true] if known else ANYWHERE[int(rng.integers(len(ANYWHERE)))]
        text = f"A {true} {place}"
        captions.append({"id": f"c{k}", "image": f"i{k}", "text": text})
        candidates.append(
            PairCandidate(f"c{k}", f"i{k}", "animal", text, f"A {false} {place}", true, false)
        )
    images = [{"id": f"i{k}", "uri": f"i{k}.jpg"} for k in range(count)]
    return make_corpus("animals", Path(), images, captions), candidates


def chosen(corpus: Corpus, candidates: list[PairCandidate], **more: object):  # type: ignore[no-untyped-def]
    may_be = more.pop("may_be", lambda one: True)
    return fair_pairs(
        candidates, corpus, None, may_be,  # type: ignore[arg-type]
        items=more.pop("items", None), recipe=FairRecipe(**more), progress=silent,  # type: ignore[arg-type]
    )  # fmt: skip


def test_what_text_tells_apart_is_left_out_and_the_rest_is_kept_both_ways() -> None:
    corpus, candidates = animals(600)
    fair = chosen(corpus, candidates, calipers=(0.4,), lean=0.0)
    kept = [candidates[place] for place in fair.places.tolist()]
    assert len(kept) > 100
    assert not [one for one in kept if "sofa" in one.true or "field" in one.true]
    assert sum(one.was == "dog" for one in kept) == len(kept) / 2
    assert fair.attack is not None
    assert fair.attack.overall.value < 0.65
    assert fair.part.before > 0.75
    for a, b in fair.part.pairs().tolist():
        assert {candidates[a].was, candidates[b].was} == {"dog", "cow"}


def test_of_a_caption_one_is_kept_and_a_refused_one_takes_its_twin_along() -> None:
    corpus, candidates = animals(300)
    twice = [*candidates, *(replace(one, image=one.image) for one in candidates)]
    fair = chosen(corpus, twice)
    sources = [twice[place].source for place in fair.places.tolist()]
    assert len(sources) == len(set(sources))
    refused = chosen(corpus, candidates, may_be=lambda one: one.was != "dog")
    assert len(refused.places) == 0


def test_a_limit_keeps_twins_together_and_the_same_seed_gives_the_same() -> None:
    corpus, candidates = animals(300)
    fair, again = chosen(corpus, candidates, items=21), chosen(corpus, candidates, items=21)
    assert len(fair.places) == 20
    assert fair.places.tolist() == again.places.tolist()
    words = [candidates[place].was for place in fair.places.tolist()]
    assert words.count("dog") == 10


def test_edits_are_the_same_whichever_way_round() -> None:
    one = PairCandidate("c", "i", "k", "t", "f", "dog", "cat")
    table = as_candidates([one, replace(one, was="cat", now="dog"), replace(one, kind="other")])
    assert table.edit[0] == table.edit[1] != table.edit[2]
    assert table.forward.tolist() == [False, True, False]
    assert np.unique(table.source).tolist() == [0]


def test_foils_by_a_model_are_the_papers_way(tmp_path: Path) -> None:
    corpus, _ = animals(40)
    with pytest.raises(BadInput, match="text alone may tell"):
        ta.build(
            "foil",
            corpus,
            tmp_path / "foil",
            FoilOptions(hardest="blind", absence="captions", mentions=1, parser="none"),
        )


def test_twins_lean_against_the_truth_as_far_as_they_are_told() -> None:
    way = np.tile([True, False], 200)
    rng = seeds.rng(0, "margins")
    scores = rng.normal(0.5, 1.0, (400, 1))
    choices = paired_choices([("a", "b")] * 400, ["k"] * 400, [f"i{k}" for k in range(400)])
    table = Candidates(choices, np.arange(400), np.zeros(400, np.int64), way)
    for lean in (0.0, 0.3):
        twin = matched(table, scores, 0.1, FairRecipe(lean=lean))
        pairs = FairPart(twin, 0.0, 0.1).pairs()
        sums = scores[pairs[:, 0], 0] + scores[pairs[:, 1], 0]
        assert len(pairs) > 40 and (np.abs(sums + 2 * lean) < 0.1).all()


def test_a_wider_caliper_is_taken_only_where_the_first_keeps_too_little() -> None:
    corpus, candidates = animals(300)
    enough = chosen(corpus, candidates, calipers=(0.4, 5.0), lean=0.0)
    assert enough.card()["fair"]["caliper"] == 0.4
    wider = chosen(corpus, candidates, calipers=(1e-9, 0.4), lean=0.0)
    assert wider.card()["fair"]["caliper"] == 0.4
    assert wider.places.tolist() == enough.places.tolist()
