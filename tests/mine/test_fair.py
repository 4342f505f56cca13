"""Fair parts: twins of which the opposite is true, and what attackers make of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import tellapart as ta
from tellapart import seeds
from tellapart.attack.choices import paired_choices
from tellapart.attack.fairness import FairRecipe, less_sure, what_strangers_see
from tellapart.attack.features import LENGTH, Features
from tellapart.attack.readers import NO_READERS, Readers
from tellapart.attack.twins import (
    CALIPER,
    CLUSTER,
    CONTEXT,
    TwinCandidates,
    Twins,
    contexts,
    matched,
)
from tellapart.benchmark.groups import components
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.mine.fair import PairCandidate, as_candidates, fair_pairs
from tellapart.models.model import ModelInfo, NamedModel
from tellapart.types import Floats32, silent
from tellapart.verbs.build.foil import FoilOptions


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Attackers of few trees: what they find is planted, and each tree costs milliseconds."""
    monkeypatch.setattr("tellapart.attack.trees.ROUNDS", 30)


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
    corpus, candidates = animals(400)
    fair = chosen(corpus, candidates, share=0.3)
    kept = [candidates[place] for place in fair.places.tolist()]
    assert len(kept) > 80
    assert not [one for one in kept if "sofa" in one.true or "field" in one.true]
    assert sum(one.was == "dog" for one in kept) == len(kept) / 2
    assert fair.attack is not None
    assert fair.attack.overall.value < 0.65
    assert fair.part.before > 0.75
    assert np.unique(fair.choices().group).size < len(kept) / 2 + 1, "twins are of one group"
    for a, b in fair.part.twins.pairs.tolist():
        assert {candidates[a].was, candidates[b].was} == {"dog", "cow"}
        assert candidates[a].true.split()[2:] == candidates[b].true.split()[2:], "the same place"
    assert fair.card()["fair"]["log_odds_below_even"]["animal"] < 0.1, "both halves agree"


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


def test_not_more_is_kept_than_the_share_of_captions_and_the_least_unlike_first() -> None:
    corpus, candidates = animals(300)
    few, many = (chosen(corpus, candidates, share=share) for share in (0.1, 0.3))
    assert len(few.places) == 30 and len(many.places) == 90
    assert set(few.places.tolist()) < set(many.places.tolist())
    assert (np.diff(many.part.twins.unlike) >= 0).all()


def test_twins_never_connect_more_than_a_few_images() -> None:
    """Else nearly all items could end up in one group, with nothing to draw or to fold."""
    chain = np.array([(k, k + 1) for k in range(59)])
    twins = Twins(chain, np.linspace(0.0, 1.0, 59))
    image, kind = np.arange(60), np.zeros(60, np.int64)
    kept = twins.first(kind, np.array([59]), image)
    label = components(*kept.pairs.T, 60)
    assert np.bincount(label).max() == CLUSTER
    assert len(kept.pairs) == 6 * (CLUSTER - 1)
    assert kept.pairs[0].tolist() == [0, 1] and kept.unlike[0] == 0.0
    within = Twins(np.array([(0, 1), (1, 0), (0, 1)]), np.zeros(3))
    assert len(within.first(kind, np.array([3]), image).pairs) == 3, "no image is added"
    assert len(within.first(kind, np.array([2]), image).pairs) == 2
    rare = (np.arange(60) == 30).astype(np.int64)  # one twin of a kind of its own, in the middle
    assert [30, 31] in twins.first(rare, np.array([59, 59]), image).pairs.tolist()
    late = twins.first((np.arange(60) == 9).astype(np.int64), np.array([59, 59]), image)
    assert [9, 10] in late.pairs.tolist(), "it comes before the nine that would fill its cluster"


def test_built_items_say_which_are_twins_and_twins_are_one_group(tmp_path: Path) -> None:
    corpus, _ = animals(300)
    options = FoilOptions(absence="captions", mentions=1, parser="none", split="none", look=False)
    built = ta.build("foil", corpus, tmp_path / "foil", options)
    pairs: dict[str, list[Item]] = {}
    for item in ta.load_benchmark(built.root).items:
        pairs.setdefault(item.origin.notes["twins"], []).append(item)
    assert len(built) >= 20
    for one, other in pairs.values():
        assert one.origin.notes["target"] == other.origin.notes["foil"]
        assert one.origin.notes["foil"] == other.origin.notes["target"]
        assert one.group == other.group
        assert one.origin.notes["twins"] in (one.id, other.id)


def test_kinds_that_are_tests_of_their_own_keep_their_share_each() -> None:
    pairs = [(f"dog {k}", f"cat {k}") if k % 2 else (f"cat {k}", f"dog {k}") for k in range(40)]
    kinds = ["alike" if k < 20 else "unlike" for k in range(40)]
    choices = paired_choices(pairs, kinds, [f"i{k}" for k in range(40)])
    forward = np.arange(40) % 2 == 1
    table = TwinCandidates(choices, np.arange(40), choices.kind, forward, contexts(choices))
    # Twins of the second kind are all further apart than those of the first.
    scores = np.where(np.arange(40) < 20, 0.1, 0.3)[:, None]
    kept = {
        by_kind: choices.kind[FairRecipe(0.5, by_kind).twins(table, scores).pairs[:, 0]].tolist()
        for by_kind in (False, True)
    }
    assert kept == {False: [0] * 10, True: [0] * 5 + [1] * 5}


def of_one_edit(texts: list[str], forward: np.ndarray) -> TwinCandidates:
    """Candidates that exchange the first word, each of its own caption and image."""
    pairs = [(f"{'dog' if way else 'cat'} {text}", f"{'cat' if way else 'dog'} {text}")
             for text, way in zip(texts, forward.tolist(), strict=True)]  # fmt: skip
    number = len(texts)
    choices = paired_choices(pairs, ["k"] * number, [f"i{k}" for k in range(number)])
    edit = np.zeros(number, np.int64)
    return TwinCandidates(choices, np.arange(number), edit, forward, contexts(choices))


def test_twins_are_those_of_the_obvious_search_of_all_pairs() -> None:
    rng = seeds.rng(0, "twins")
    words = np.array("sofa field tree water rain hat ball bed".split())
    texts = [" ".join(rng.choice(words, 3)) for _ in range(60)]
    table = of_one_edit(texts, rng.random(60) < 0.5)
    scores = rng.normal(0.0, 1.0, (60, 2))
    signed = scores * np.where(table.forward, 1, -1)[:, None] / CALIPER
    lean = np.array([0.2, 0.4])
    shift = 2 * lean / CALIPER
    alike = (table.context @ table.context.T).toarray()
    every = [
        (CONTEXT * (1 - alike[a, b]) + (1 - CONTEXT) * apart, a, b)
        for a in np.flatnonzero(table.forward).tolist()
        for b in np.flatnonzero(~table.forward).tolist()
        if (apart := np.abs(signed[a] - signed[b] + shift * (1 - alike[a, b])).max()) <= 1
    ]
    slow: list[tuple[int, int]] = []
    for _, a, b in sorted(every):
        if not {a, b} & {k for pair in slow for k in pair}:
            slow.append((min(a, b), max(a, b)))
    twins = matched(table, scores, np.array([lean]))
    assert len(slow) > 10
    assert [tuple(pair) for pair in twins.pairs.tolist()] == slow


def test_the_words_around_decide_between_twins_that_attackers_find_as_likely() -> None:
    texts = [f"in a {place}" for place in ("tree", "boat", "tree", "boat", "car", "car")]
    table = of_one_edit(texts, np.array([True, True, False, False, True, False]))
    twins = matched(table, np.zeros((6, 1)))
    assert sorted(map(tuple, twins.pairs.tolist())) == [(0, 2), (1, 3), (4, 5)]
    assert np.allclose(twins.unlike, 0.0)


def test_the_truth_stays_below_even_by_what_twins_of_one_half_show_to_the_other() -> None:
    rng = seeds.rng(0, "halves")
    number = 4_000
    likely = rng.normal(0.0, 1.5, number)
    forward = rng.random(number) < 1 / (1 + np.exp(-likely))
    table = of_one_edit([f"on{k}" for k in range(number)], forward)
    way = np.where(forward, 1, -1)
    noisy = [((likely + rng.normal(0.0, 1.0, number)) * way)[:, None] for _ in range(2)]
    sure = [(likely * way)[:, None]] * 2
    # What is likely varies by 2.25 x 1 / (2.25 + 1) where one half says the same; and as far are
    # twins of opposite truth apart, each by half of it.
    assert what_strangers_see(table, noisy, FairRecipe(0.2))[0, 0] == pytest.approx(0.35, abs=0.12)
    assert what_strangers_see(table, sure, FairRecipe(0.2))[0, 0] < 0.05
    same = of_one_edit(["on a mat"] * number, forward)
    assert what_strangers_see(same, noisy, FairRecipe(0.2))[0, 0] == 0, (
        "strangers see no difference"
    )


def test_the_less_contexts_have_in_common_the_further_the_truth_stays_below_even() -> None:
    forward = np.arange(400) % 2 == 0
    own_words = of_one_edit([f"on{k}" for k in range(400)], forward)
    same_words = of_one_edit(["on a mat"] * 400, forward)
    scores = seeds.rng(0, "lean").normal(0.0, 1.0, (400, 1))
    ahead = {
        (name, lean): float(scores[matched(table, scores, np.array([[lean]])).pairs].mean())
        for name, table in (("own", own_words), ("same", same_words))
        for lean in (0.0, 0.3)
    }
    assert ahead["same", 0.3] == ahead["same", 0.0], "no lean between equal contexts"
    assert ahead["own", 0.0] - ahead["own", 0.3] > 0.15


def test_what_both_texts_have_in_common_is_the_context_and_its_neighbours_count_twice() -> None:
    def common(true: str, false: str, other: str) -> float:
        choices = paired_choices([(true, false), (other, other)], ["k"] * 2, ["a", "b"])
        first, second = contexts(choices).toarray()
        return float(first @ second)

    assert common("a dog on a mat", "a cat on a mat", "zebra") == 0.0
    assert common("a dog on mats", "a cat on mats", "a on mats") > 0.3
    near = contexts(paired_choices([("red dog runs", "red cat runs")] * 2, ["k"] * 2, ["a", "b"]))
    assert np.diff(near.indptr).tolist() == [4, 4], "two words, and each as a neighbour"


def test_of_spare_twins_those_are_left_out_that_attackers_of_twins_find_most_surely() -> None:
    pairs = [(f"dog {k}", f"cat {k}") if k % 2 else (f"cat {k}", f"dog {k}") for k in range(240)]
    choices = paired_choices(pairs, ["k"] * 240, [f"i{k}" for k in range(240)])
    number = np.arange(240)
    edit = np.zeros(240, np.int64)
    table = TwinCandidates(choices, number, edit, number % 2 == 1, contexts(choices))
    twins = Twins(number.reshape(-1, 2), np.linspace(0.0, 1.0, 120))
    given_away = np.isin(choices.choice // 2, np.arange(0, 120, 4))  # every fourth pair
    noise = seeds.rng(0, "noise").normal(0.0, 1.0, len(choices.text))
    dense = np.where(given_away & choices.right, 3.0, noise)[:, None]
    words = csr_matrix((len(dense), 1))
    features = Features(dense, ("habit",), (LENGTH,), words)
    kept = less_sure(table, [features, features], twins, FairRecipe(0.75))
    assert len(kept) == 90
    assert np.isin(kept.pairs[:, 0] // 2, np.arange(0, 120, 4)).sum() <= 3
    assert (np.diff(kept.unlike) > 0).all(), "the least unlike are still first"
    assert (
        less_sure(table, [features], twins, FairRecipe(1.0)).pairs.tolist() == twins.pairs.tolist()
    )


class OneDirection(NamedModel):
    """Puts what it is told about at one end, everything else at the other."""

    facts = ModelInfo("one-direction")

    def __init__(self, told: set[str]) -> None:
        self._told = told

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """Along one direction of two."""
        return np.array([[1.0, 0.0] if text in self._told else [0.0, 1.0] for text in texts], "f")


def test_a_reader_takes_part_in_what_is_left_out_of_twins() -> None:
    """What it alone sees in every fourth pair stays there without it."""
    pairs = [(f"dog {k}", f"cat {k}") if k % 2 else (f"cat {k}", f"dog {k}") for k in range(240)]
    choices = paired_choices(pairs, ["k"] * 240, [f"i{k}" for k in range(240)])
    number = np.arange(240)
    table = TwinCandidates(choices, number, number * 0, number % 2 == 1, contexts(choices))
    twins = Twins(number.reshape(-1, 2), np.linspace(0.0, 1.0, 120))
    seen = np.arange(0, 120, 4)
    told = {pairs[k][0] for k in number.tolist() if k // 2 in seen}
    noise = seeds.rng(0, "noise").normal(0.0, 1.0, (len(choices.text), 1))
    features = Features(noise, ("noise",), (LENGTH,), csr_matrix((len(noise), 1)))
    left = {
        name: np.isin(
            less_sure(table, [features] * 2, twins, FairRecipe(0.75), readers).pairs[:, 0] // 2,
            seen,
        ).sum()
        for name, readers in (("none", NO_READERS), ("one", Readers(OneDirection(told))))
    }
    assert left["one"] <= 3 < 15 < left["none"]
