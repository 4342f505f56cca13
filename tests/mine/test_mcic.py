"""MCIC as in the paper: each step against its obvious version, guards, splits, odd corpora."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tellapart as ta
from tellapart import seeds
from tellapart.corpus.corpus import make_corpus
from tellapart.errors import BadInput, UnknownName
from tellapart.mine import vectors as vectors_module
from tellapart.mine.captions import MinedCaptions, bag_of_words, split_images
from tellapart.mine.informativeness import Silence, StemAgreement, stem
from tellapart.mine.mcic import decoys
from tellapart.mine.mcic.decoys import DecoyMine, pair_bleu
from tellapart.mine.mcic.score import REASONS, DecoyCandidates, DecoyChoice, Guards
from tellapart.mine.mcic.tuning import Development, mgs_rank, wmgs_rank
from tellapart.mine.neighbours.nearest import Search
from tellapart.mine.statistics import central_share
from tellapart.mine.vectors import MinedVectors
from tellapart.mine.verifier import Verifier
from tellapart.store.arrays import ArrayShelf
from tellapart.store.cache import make_room
from tellapart.text.tokens import FUNCTION_WORDS, tokens
from tellapart.verbs.build.mcic import McicOptions, mcic

SEED = 5
NO_GUARDS = Guards().without(["all"])
ANIMALS = "dog cat horse sheep bird cow bear zebra goat duck".split()
PLACES = "grass beach road snow sofa roof".split()


def corpus_of(rows, root):
    """A corpus from (image, text) pairs."""
    images = [{"id": image, "uri": f"{image}.jpg"} for image in dict.fromkeys(i for i, _ in rows)]
    captions = [{"id": f"c{k}", "image": i, "text": t} for k, (i, t) in enumerate(rows)]
    return make_corpus("small", root, images, captions)


def captions_of(rows):
    images = list(dict.fromkeys(image for image, _ in rows))
    return MinedCaptions(
        tuple(f"c{k}" for k in range(len(rows))),
        tuple(text for _, text in rows),
        tuple(images),
        np.array([images.index(image) for image, _ in rows], np.int32),
    )


def zoo(images=40, captions=3, seed=0):
    """Images of an animal at a place, with captions that say so in several ways."""
    rng = np.random.default_rng(seed)
    rows = []
    for k in range(images):
        animal, place = rng.choice(ANIMALS), rng.choice(PLACES)
        says = [
            f"A {animal} stands on the {place}.",
            f"the {place} with one {animal} on it",
            f"There is a {animal} that looks at a {place} somewhere",
        ]
        rows += [(f"i{k}", text) for text in says[:captions]]
    return rows


# The obvious versions: word by word, pair by pair, as the paper and the docstrings say it.


def slow_bleu(candidate, reference):
    """Up to 4-grams (none longer than the candidate), exp smoothing, no brevity penalty."""
    logs, empty = [], 0
    for n in range(1, min(4, len(candidate)) + 1):
        have = Counter(tuple(candidate[k : k + n]) for k in range(len(candidate) - n + 1))
        want = Counter(tuple(reference[k : k + n]) for k in range(len(reference) - n + 1))
        matches = sum((have & want).values())
        if matches == 0 and n == 1:
            return 0.0
        empty += matches == 0
        precision = (matches or 0.5**empty) / (len(candidate) - n + 1)
        logs.append(math.log(precision))
    return math.exp(sum(logs) / len(logs)) if logs else 0.0


def slow_cosine(a, b):
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return round(float(np.dot(a, b) / norms), 6) if norms else 0.0


def slow_score(cosine, bleu, choice):
    mixed = choice.weight * cosine + (1 - choice.weight) * bleu
    return 0.0 if round(bleu, 12) >= choice.limit else round(mixed, 12)


def slow_agreement(rows):
    """Kappa of each stem over all ordered pairs of captions of an image, shrunk by ten pairs."""
    said = [(image, {stem(word) for word in tokens(text)}) for image, text in rows]
    if len({image for image, _ in rows}) == len(rows):
        return {word: float(word not in FUNCTION_WORDS) for _, words in said for word in words}
    found = {}
    for word in set().union(*(words for _, words in said)):
        share = sum(word in words for _, words in said) / len(said)
        pairs = [(a, b) for a, b in permutations(said, 2) if a[0] == b[0] and word in a[1]]
        both = sum(word in b[1] for _, b in pairs)
        beyond = (both - share * len(pairs)) / max(1 - share, 1e-9)
        found[word] = min(1.0, max(0.0, beyond / (len(pairs) + 10)))
    return found


def slow_refuses(rows, image, text, guards, agreement):
    own = [t for i, t in rows if i == image]
    if guards.same_words and bag_of_words(text) in map(bag_of_words, own):
        return True
    known = {stem(word) for t in own for word in tokens(t)}
    new = {stem(word) for word in tokens(text)} - known
    most = max((agreement[word] for word in new), default=0.0)
    return guards.doubt < 1 and (1 - most) ** len(own) > guards.doubt


def slow_decoys(rows, vectors, choice, guards):
    """Algorithm 1 for each caption: the texts' places, or fewer than wanted."""
    agreement = slow_agreement(rows)
    longer = seeds.rng(SEED, "mcic", "longer").integers(choice.decoys + 1, size=len(rows))
    chosen = []
    for target, (image, text) in enumerate(rows):
        others = [
            k for k, (i, t) in enumerate(rows) if i != image and not (guards.distinct and t == text)
        ]
        cosine = {k: slow_cosine(vectors[target], vectors[k]) for k in others}
        near = sorted(others, key=lambda k: (-cosine[k], k))[: choice.neighbours]
        score = {
            k: slow_score(cosine[k], slow_bleu(tokens(rows[k][1]), tokens(text)), choice)
            for k in near
        }
        ranked = [k for k in sorted(near, key=lambda k: -score[k]) if score[k] > 0]
        chosen.append(slow_picks(rows, target, ranked, guards, agreement, longer[target], choice))
    return chosen


def slow_picks(rows, target, ranked, guards, agreement, longer, choice):
    """Best first; with the guard `length` so many longer ones, then the best of what is left."""
    image, text = rows[target]
    room = {"longer": longer, "shorter": choice.decoys - longer}
    picked = []

    def may(k):
        bags = [bag_of_words(rows[p][1]) for p in picked]
        twice = guards.distinct and bag_of_words(rows[k][1]) in bags
        refused = slow_refuses(rows, image, rows[k][1], guards, agreement)
        return not twice and not refused and k not in picked and len(picked) < choice.decoys

    for k in ranked:
        difference = len(rows[k][1]) - len(text)
        side = "longer" if difference > 0 or (difference == 0 and room["longer"]) else "shorter"
        if may(k) and (not guards.length or room[side]):
            room[side] -= 1
            picked.append(k)
    for k in ranked:
        if may(k):
            picked.append(k)
    return sorted(picked, key=ranked.index)


def mined(rows, vectors, choice, guards):
    captions = captions_of(rows)
    given = MinedVectors(np.asarray(vectors, np.float32), {"vectors": "given"})
    mine = DecoyMine(
        captions, given, StemAgreement.of(captions), choice, guards, Search("exact"),
        Verifier(None, ""), SEED,
    )  # fmt: skip
    found = mine.decoys(np.arange(len(rows), dtype=np.int32))
    return [[k for k in row if k >= 0] for row in found.captions.tolist()], found


signs = st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4)
words = "a a dog cats cat on the grass runs".split()
short_text = st.lists(st.sampled_from(words), min_size=1, max_size=6)
caption = st.tuples(st.sampled_from(["x", "y", "z"]), short_text.map(" ".join), signs)


EQUAL_TO_THE_LIMIT = [("x", "a a a a dog", [-1.0] * 4), ("y", "a a dog a a", [-1.0] * 4)]
"""Their BLEU is 0.5, but for the last digit of a sum of logarithms."""


@example(EQUAL_TO_THE_LIMIT, 0.0, 3, NO_GUARDS)
@given(
    st.lists(caption, min_size=2, max_size=14),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.sampled_from([3, 20]),
    st.sampled_from([NO_GUARDS, Guards(doubt=0.9), Guards(False, same_words=False, doubt=1.0)]),
)
def test_decoys_are_those_of_the_obvious_version_ties_included(rows, weight, neighbours, guards):
    """Cosines of these vectors are multiples of 1/2: there are ties at every step."""
    captions, vectors = [(i, t) for i, t, _ in rows], [v for _, _, v in rows]
    choice = DecoyChoice(neighbours, decoys=2, weight=weight)
    found, _ = mined(captions, vectors, choice, guards)
    assert found == slow_decoys(captions, vectors, choice, guards)


def test_scores_bleu_and_cosine_of_decoys_are_those_of_equation_1():
    rows = zoo(12)
    vectors = np.random.default_rng(1).normal(size=(len(rows), 5))
    choice = DecoyChoice(30, weight=0.4, limit=0.6)
    places, found = mined(rows, vectors, choice, NO_GUARDS)
    for target, row in enumerate(places):
        for p, k in enumerate(row):
            bleu = slow_bleu(tokens(rows[k][1]), tokens(rows[target][1]))
            cosine = slow_cosine(vectors[target], vectors[k])
            assert found.bleus[target, p] == pytest.approx(bleu)
            assert found.cosines[target, p] == pytest.approx(cosine, abs=2e-6)
            assert found.scores[target, p] == pytest.approx(0.4 * cosine + 0.6 * bleu, abs=2e-6)
            assert bleu < 0.6 and found.scores[target, p] > 0


def test_agreement_is_the_obvious_kappa():
    rows = zoo(8)
    captions = captions_of(rows)
    vocabulary = StemAgreement.of(captions)
    slow = slow_agreement(rows)
    for word, number in vocabulary.terms.items():
        assert vocabulary.agreement[number] == pytest.approx(slow[stem(word)])
    assert slow["dog"] > 0.3 > slow["a"]


def test_true_captions_let_through_are_those_of_the_obvious_version():
    rows = zoo(25)
    for k in range(0, 30, 10):  # some captions name an animal that the image's others do not
        rows[k] = (rows[k][0], "A unicorn, or a dog and a cat and a horse.")
    captions = captions_of(rows)
    vocabulary = StemAgreement.of(captions)
    agreement = {stem(w): vocabulary.agreement[k] for w, k in vocabulary.terms.items()}
    guards = Guards(same_words=False, doubt=0.5)
    passed = 0
    for place, (image, text) in enumerate(rows):
        others = rows[:place] + rows[place + 1 :]
        passed += not slow_refuses(others, image, text, guards, agreement)
    share = Silence.of(captions, vocabulary).true_captions_let_through(0.5)
    assert share == pytest.approx(passed / len(rows)) and 0 < share < 1


# Tuning


def slow_ranks(rows, near, place_of):
    """The mean over captions of the mean rank of their siblings."""
    means = []
    for target, (image, text) in enumerate(rows):
        siblings = [k for k, (i, t) in enumerate(rows) if i == image and t != text]
        if siblings:
            means.append(np.mean([place_of(target, k, near[target]) for k in siblings]))
    return float(np.mean(means))


@given(
    st.lists(caption, min_size=4, max_size=14), st.integers(1, 6), st.sampled_from([0.0, 0.3, 1.0])
)
def test_ranks_are_those_of_the_obvious_version(rows, number, weight):
    captions, vectors = [(i, t) for i, t, _ in rows], [v for _, _, v in rows]
    if not any(a[0] == b[0] and a[1] != b[1] for a, b in permutations(captions, 2)):
        return
    number = min(number, len(rows) - 1)
    cosine = lambda a, b: slow_cosine(vectors[a], vectors[b])  # noqa: E731
    near = [
        sorted((k for k in range(len(rows)) if k != t), key=lambda k: (-cosine(t, k), k))[:number]
        for t in range(len(rows))
    ]
    choice = DecoyChoice(weight=weight)

    def score(target, k):
        words = [tokens(captions[one][1]) for one in (k, target)]
        return slow_score(cosine(target, k), slow_bleu(*words), choice)

    def by_cosine(target, k, list_):
        return list_.index(k) + 1 if k in list_ else number + 1

    def by_score(target, k, list_):
        if k not in list_:
            return number + 1
        ranked = sorted(list_, key=lambda other: -max(score(target, other), 0))
        return ranked.index(k) + 1 if score(target, k) > 0 else number

    all_captions = captions_of(captions)
    dev = Development.of(all_captions, 100, number, 0)
    assert len(dev.sample) == sum(
        sum(other[0] == one[0] for other in captions) > 1 for one in captions
    )
    dev = replace(dev, sample=np.arange(len(rows), dtype=np.int32))
    indices, cosines = dev.near(MinedVectors(np.array(vectors, np.float32), {}), Search("exact"))
    bleus = pair_bleu(all_captions, choice).scores_against(dev.sample, indices)
    assert mgs_rank(dev, indices)[0] == pytest.approx(slow_ranks(captions, near, by_cosine))
    candidates = DecoyCandidates(dev.sample, dev.sample, indices, cosines, bleus)
    ranked = wmgs_rank(dev, candidates, choice)
    assert ranked[0] == pytest.approx(slow_ranks(captions, near, by_score))


def test_the_sample_has_whole_images_and_no_more_captions_than_asked():
    captions = captions_of([*zoo(30), ("single", "A dog.")])
    dev = Development.of(captions, 20, 500, seed=4)
    images = Counter(captions.image_of[dev.sample].tolist())
    assert len(dev.sample) <= 20 and set(images.values()) == {3} and len(images) == 6
    assert 30 not in images and dev.neighbours == 90
    again = Development.of(captions, 20, 500, seed=5)
    assert again.sample.tolist() != dev.sample.tolist()


def test_tuning_takes_the_setting_with_the_lowest_rank_and_keeps_the_curves(tmp_path):
    options = McicOptions(
        way="paper", dimensions=(8, 16), epochs=(1, 30), weights=(0.0, 0.5, 1.0), sample=60
    )
    made = ta.build("mcic", corpus_of(zoo(40), tmp_path), tmp_path / "out", options).card.made
    trials = {m: [t for t in made["tuned"] if t["measure"] == m] for m in ("mgs-rank", "wmgs-rank")}
    assert [len(found) for found in trials.values()] == [4, 3]
    best = min(trials["mgs-rank"], key=lambda t: t["rank"])
    named = f"PV-DBOW, {best['dimensions']} dimensions, {best['epochs']} epochs, 5 negative samples"
    assert made["vectors"] == named
    assert made["lambda"] == min(trials["wmgs-rank"], key=lambda t: t["rank"])["lambda"]
    assert "<svg" in (tmp_path / "out" / "tuning.svg").read_text()


def test_nothing_to_tune_on_is_said(tmp_path):
    corpus = corpus_of(zoo(10, captions=1), tmp_path)
    own = McicOptions(vectors="tf-idf", weights=(0.1, 0.2))
    with pytest.raises(BadInput, match="no image has two captions, so there is nothing to tune on"):
        ta.build("mcic", corpus, tmp_path / "out", own)


# What comes out


def built(rows, tmp_path, name="out", seed=0, **own):
    options = McicOptions(**{"seed": seed, "vectors": "tf-idf", "way": "paper", **own})
    return ta.build("mcic", corpus_of(rows, tmp_path), tmp_path / name, options)


def test_items_hold_the_caption_and_its_decoys(tmp_path):
    rows = zoo()
    made = built(rows, tmp_path)
    owner = {}
    for image, text in rows:
        owner.setdefault(text, set()).add(image)
    table = pl.read_parquet(tmp_path / "out" / "decoys.parquet")
    assert made.items and table.height == 4 * len(made.items)
    of_item = table.rows_by_key("item", named=True)
    for item in made.items:
        ((_, place),) = item.true
        assert item.images[0] in owner[item.captions[place]]
        by_place = {row["place"]: row for row in of_item[item.id]}
        assert sorted([place, *by_place]) == list(range(5))
        for p, row in by_place.items():
            text = item.captions[p]
            assert item.images[0] not in owner[text] and row["image"] in owner[text]
            assert row["bleu"] < 0.5 and row["score"] > 0
    assert ta.validate(made, look=False).good


def test_pitfall_7_the_truth_is_at_every_place_and_alphabetical_only_where_asked(tmp_path):
    made = built(zoo(), tmp_path)
    places = Counter(next(iter(item.true))[1] for item in made.items)
    assert set(places) == set(range(5)) and max(places.values()) < len(made.items) / 2
    released = built(zoo(), tmp_path, "sorted", without=("shuffle",))
    assert all(list(item.captions) == sorted(item.captions) for item in released.items)


@pytest.mark.parametrize("guard", ["same-words", "doubt"])
def test_pitfall_8_a_decoy_with_the_words_of_the_image_is_refused(guard):
    rows = [("x", "a dog sits on a bench outside"), ("x", "one dog, one bench")]
    rows += [("y", "a dog sits outside on a bench"), *zoo(20)]
    vectors, choice = np.ones((len(rows), 2)), DecoyChoice(decoys=1, limit=1.0)
    assert mined(rows, vectors, choice, NO_GUARDS)[0][0] == [2]
    others = {"same-words", "doubt"} - {guard}
    found, told = mined(rows, vectors, choice, Guards().without(others))
    reason = REASONS.index("same words" if guard == "same-words" else "may be true")
    assert found[0] != [2] and told.refused[0, reason] >= 1


def test_pitfall_8_words_that_no_two_captions_share_do_not_make_a_decoy_false():
    """A big dog may be meant by "a dog"; a cat is not."""
    rows = [
        (f"{a}{k}", f"{c} {a} there")
        for a in ("dog", "cat")
        for k in range(4)
        for c in ("a", "the", "big")
    ]
    assert not any(tokens(t)[0] == "big" for _, t in rows[:2])
    captions = captions_of(rows)
    vocabulary = StemAgreement.of(captions)
    agreement = {word: vocabulary.agreement[k] for word, k in vocabulary.terms.items()}
    assert agreement["big"] == 0 and agreement["dog"] > 0.5
    found, _ = mined(
        rows, np.ones((len(rows), 2)), DecoyChoice(decoys=3, limit=1.0), Guards(doubt=0.5)
    )
    for target, row in enumerate(found):
        assert row and all(rows[k][0][:3] != rows[target][0][:3] for k in row)


def test_pitfall_9_no_decoy_twice_and_no_item_twice(tmp_path):
    twice = ("i0", zoo(20)[0][1])
    many = [(f"j{k}", "A dog stands on the moon!") for k in range(6)]
    rows = [*zoo(20), twice, *many, ("k", "a dog stands on the moon")]
    guarded = built(rows, tmp_path, max_bleu=0.95)
    for item in guarded.items:
        assert len({bag_of_words(text) for text in item.captions}) == 5
    assert len({item.content for item in guarded.items}) == len(guarded.items)
    plain = built(rows, tmp_path, "plain", max_bleu=0.95, without=("all",))
    assert any(len(set(item.captions)) < 5 for item in plain.items)
    contents = Counter(item.content for item in plain.items)
    assert max(contents.values()) == 2 and ta.validate(plain, look=False).good


def test_pitfall_14_splits_share_no_image_and_no_caption(tmp_path):
    rows = zoo(60)
    made = built(rows, tmp_path, split="train:0.5,dev:0.25,test:0.25")
    parts = {name: ta.load_benchmark(tmp_path / "out" / name) for name in ("train", "dev", "test")}
    sizes = {
        name: len({i for item in part.items for i in item.images}) for name, part in parts.items()
    }
    assert sizes["train"] <= 30 and sizes["dev"] <= 15 and sizes["test"] <= 15
    assert sum(len(part.items) for part in parts.values()) == len(made.items)
    owner = {}
    for image, text in rows:
        owner.setdefault(text, set()).add(image)
    split_of = {i: name for name, part in parts.items() for item in part.items for i in item.images}
    for name, part in parts.items():
        assert part.name == f"mcic-{name}" and all(
            i.origin.notes == {"split": name} for i in part.items
        )
        table = pl.read_parquet(tmp_path / "out" / name / "decoys.parquet")
        assert {split_of.get(image, name) for image in table["image"]} == {name}
    built(rows, tmp_path, "open", split="a:0.5,b:0.5", without=("own-split",))
    table = pl.read_parquet(tmp_path / "open" / "a" / "decoys.parquet")
    inside = {i for item in ta.load_benchmark(tmp_path / "open" / "a").items for i in item.images}
    assert not set(table["image"]) <= inside


def test_a_split_is_stable_and_wrong_ones_are_named():
    captions = captions_of(zoo(50))
    names, number = split_images(captions.images, "dev:10,test:0.2,train:rest", 3)
    assert names == ["dev", "test", "train"] and np.bincount(number).tolist() == [10, 10, 30]
    fewer = captions_of(zoo(49))
    _, before = split_images(fewer.images, "dev:10,test:0.2,train:rest", 3)
    assert (before != number[:49]).sum() <= 3
    for spec in (
        "a:0.5,b:0.7",
        "a:x",
        "a:rest,b:rest",
        "a:0,b:rest",
        "a:-1",
        "a:nan",
        "a:.5,a:.5",
        ":1",
    ):
        with pytest.raises(BadInput):
            split_images(captions.images, spec, 0)


def test_a_number_of_items_takes_captions_at_random(tmp_path):
    options = McicOptions(items=7, vectors="tf-idf", way="paper")
    made = ta.build("mcic", corpus_of(zoo(60), tmp_path), tmp_path / "out", options)
    assert len(made.items) == 7
    targets = [int(item.origin.source_id[1:]) for item in made.items]
    assert targets == sorted(targets) and max(targets) > 30
    told = made.card.made["statistics"]["all"]
    assert told["instances"] == 7 and told["left_out"] < 7


def test_the_same_seed_gives_the_same_items_and_another_one_another_order(tmp_path):
    first, again = built(zoo(), tmp_path), built(zoo(), tmp_path, "again")
    assert [i.captions for i in first.items] == [i.captions for i in again.items]
    other = built(zoo(), tmp_path, "other", seed=1)
    assert [i.captions for i in first.items] != [i.captions for i in other.items]


def test_on_the_world_a_verifier_lets_only_false_decoys_through(world, tmp_path):
    options = McicOptions(
        items=25, verifier="oracle", way="paper", vectors="tf-idf", without=("all",)
    )
    made = ta.build("mcic", world, tmp_path / "out", options)
    verifier = Verifier(world, "oracle")
    for item in made.items:
        for place, text in enumerate(item.captions):
            assert verifier.may_fit(item.images[0], text) == ((0, place) in item.true)


def test_statistics_count_what_is_there(tmp_path):
    rows = zoo()
    made = built(rows, tmp_path)
    told = made.card.made["statistics"]["all"]
    assert told["instances"] == len(made.items)
    assert told["instances"] + told["left_out"] == len(rows)
    assert told["images"] == len({item.images[0] for item in made.items})
    words = {w for item in made.items for text in item.captions for w in tokens(text)}
    assert told["vocabulary"] == len(words)
    decoys = [
        t for item in made.items for p, t in enumerate(item.captions) if (0, p) not in item.true
    ]
    mean = np.mean([len(tokens(text)) for text in decoys])
    assert told["words_in_decoys"] == pytest.approx(mean, abs=1e-4)
    table = pl.read_parquet(tmp_path / "out" / "decoys.parquet")
    assert told["score"] == pytest.approx(table["score"].mean(), abs=1e-4)


def test_pitfall_4_the_most_central_option_gives_the_truth_away_in_the_papers_way(tmp_path):
    """Which is why it is measured, and why there are fair sets."""
    things = product(ANIMALS[:5], PLACES[:5], "red green blue white black".split())
    rows = [(f"i{k}", f"A {c} {a} on some {b} here.") for k, (a, b, c) in enumerate(things)]
    paper = built(rows, tmp_path, max_bleu=0.95)
    fair = built(rows, tmp_path, "fair", way="auto", max_bleu=0.95)
    shares = []
    for made in (paper, fair):
        texts = [text for item in made.items for text in item.captions]
        options = np.arange(len(texts)).reshape(-1, 5)
        for row, item in zip(options, made.items, strict=True):
            place = next(iter(item.true))[1]
            row[[0, place]] = row[[place, 0]]
        shares.append(central_share(texts, options))
    assert shares[0] > 0.3 and shares[1] == pytest.approx(0.2)


# Resuming


def test_a_stopped_job_goes_on_with_the_next_block(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(decoys, "BLOCK", 16)
    corpus, own = corpus_of(zoo(30), tmp_path), McicOptions(vectors="tf-idf", way="paper")

    def stop_at_40(phase, done, total):
        if done >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mcic(corpus, tmp_path / "a", own, stop_at_40)
    kept = sorted((tmp_path / "cache" / "mined").glob("*/from-*.npz"))
    assert [path.stem for path in kept] == ["from-0", "from-16"] and not (tmp_path / "a").exists()
    seen = [path.stat().st_mtime_ns for path in kept]
    resumed = ta.build("mcic", corpus, tmp_path / "a", own)
    assert [path.stat().st_mtime_ns for path in kept] == seen
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "other"))
    assert ta.build("mcic", corpus, tmp_path / "b", own).sha256 == resumed.sha256


def test_pitfall_21_damaged_and_other_blocks_are_computed_anew(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    rows = zoo(30)
    first = built(rows, tmp_path)
    (path,) = (tmp_path / "cache" / "mined").glob("*/from-0.npz")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    assert built(rows, tmp_path, "again").sha256 == first.sha256
    path.write_bytes(b"")
    assert built(rows, tmp_path, "third").sha256 == first.sha256
    built(rows, tmp_path, "fourth", max_bleu=0.4)
    assert len(list((tmp_path / "cache" / "mined").glob("*/from-0.npz"))) == 2


def test_the_cache_keeps_within_its_size(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path))
    folders = [ArrayShelf.on(k) for k in range(3)]
    for k, kept in enumerate(folders):
        kept.write("numbers", values=np.zeros(1000))
        os.utime(kept.folder, (k, k))
    make_room(tmp_path, 20_000, spare=(folders[0].folder,))
    assert [kept.read("numbers") is not None for kept in folders] == [True, False, True]


# Odd corpora


def test_auto_trains_vectors_only_where_there_are_many_captions(tmp_path, monkeypatch):
    assert built(zoo(20), tmp_path, vectors="auto").card.made["vectors"] == "tf-idf"
    monkeypatch.setattr(vectors_module, "MANY", 60)
    trained = built(zoo(20), tmp_path, "trained", vectors="auto", dimensions=(8,), epochs=(2,))
    assert trained.card.made["vectors"].startswith("PV-DBOW, 8 dimensions, 2 epochs")


def test_given_vectors_are_taken_and_wrong_ones_named(tmp_path):
    rows = zoo(20)
    numbers = np.random.default_rng(0).normal(size=(len(rows), 6)).astype(np.float32)
    np.save(tmp_path / "v.npy", numbers)
    table = pl.DataFrame({"id": [f"c{k}" for k in range(len(rows))], "vector": numbers.tolist()})
    table.reverse().write_parquet(tmp_path / "v.parquet")
    first = built(rows, tmp_path, "a", vectors=str(tmp_path / "v.npy"))
    second = built(rows, tmp_path, "b", vectors=str(tmp_path / "v.parquet"))
    assert first.sha256 == second.sha256 and first.card.made["vectors"] == "v.npy"
    (tmp_path / "words.vec").write_text("".join(f"{a} {k} 1 2\n" for k, a in enumerate(ANIMALS)))
    words = built(rows, tmp_path, "c", vectors=str(tmp_path / "words.vec"))
    assert words.card.made["vectors"] == "mean of the word vectors words.vec"
    np.save(tmp_path / "few.npy", numbers[:5])
    numbers[0, 0] = np.nan
    np.save(tmp_path / "nan.npy", numbers)
    table.head(5).write_parquet(tmp_path / "few.parquet")
    for name, said in {
        "few.npy": r"shape \(5, 6\)", "nan.npy": "not finite", "none.npy": "none.npy",
        "few.parquet": "no vector for caption c5", "words.txt": "names no vectors",
    }.items():  # fmt: skip
        with pytest.raises(BadInput, match=said):
            built(rows, tmp_path, "x", vectors=str(tmp_path / name))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("На картинке {} и {}.", "кот пёс дом лес конь мост".split()),
        ("一只{}在{}上", list("猫狗马羊牛鸟")),
        ("صورة {} مع {}", "قط كلب بيت شجرة حصان جسر".split()),
        ("एक {} और {}", "बिल्ली कुत्ता घर पेड़ घोड़ा पुल".split()),
    ],
    ids=["russian", "chinese", "arabic", "hindi"],
)
def test_captions_in_another_script_become_a_benchmark(form, words, tmp_path):
    rows = [(f"i{k}", form.format(*pair)) for k, pair in enumerate(permutations(words, 2))]
    made = built(rows, tmp_path, vectors="paragraphs", dimensions=(8,), epochs=(20,))
    assert len(made.items) > 10
    assert all(len(set(item.captions)) == 5 for item in made.items)


def test_one_image_or_equal_captions_end_in_a_clear_reason(tmp_path):
    with pytest.raises(BadInput, match="small has captions of only one image"):
        built([("x", "A dog."), ("x", "A cat.")], tmp_path)
    with pytest.raises(BadInput, match="no caption has 4 decoys"):
        built([("x", "A dog."), ("y", "A cat.")], tmp_path)
    with pytest.raises(BadInput, match="no caption has 4 decoys"):
        built([(f"i{k}", "A dog on the grass.") for k in range(10_000)], tmp_path)
    with pytest.raises(BadInput, match="too alike"):
        built([(f"i{k}", "A dog.") for k in range(50)], tmp_path, without=("all",))
    assert not (tmp_path / "out").exists()


def test_captions_without_words_are_left_out_and_one_caption_an_image_is_enough(tmp_path):
    rows = [*zoo(30, captions=1), ("odd", "?!"), ("odder", "...")]
    for vectors in ("tf-idf", "paragraphs"):
        made = built(rows, tmp_path, vectors, vectors=vectors, dimensions=(8,), epochs=(5,))
        assert made.items and not any("?!" in item.captions for item in made.items)


def test_wrong_options_are_named(tmp_path):
    rows = zoo(5)
    wrong = {
        "way": {"way": "papers"}, "neighbours": {"neighbours": 0},
        "lambda": {"weights": (1.5,)}, "L": {"max_bleu": 2},
        "doubt": {"doubt": 0}, "smoothing": {"smoothing": "much"},
        "fair sets need the guards doubt": {"way": "fair-sets", "without": ("doubt",)},
        "a fair set has 5 items": {"way": "auto", "items": 4},
        "least near": {"least_near": -1.0},
        "decoys cannot come from": {"neighbours": 3},
        "epochs": {"epochs": (0,)},
    }  # fmt: skip
    for said, own in wrong.items():
        with pytest.raises((BadInput, UnknownName), match=said):
            built(rows, tmp_path, **own)
    with pytest.raises(UnknownName, match="no guard called 'same-word'"):
        Guards().without(["same-word"])


def test_the_command_prints_the_table_and_leaves_the_card(tmp_path):
    from typer.testing import CliRunner

    from tellapart.cli.main import app

    path = tmp_path / "captions.csv"
    path.write_text("image,caption\n" + "".join(f"{i},{t}\n" for i, t in zoo(30)))
    given = ["build", "mcic", str(path), str(tmp_path / "out"), "--vectors", "tf-idf", "--no-look"]
    given += ["--options", "paper"]
    done = CliRunner().invoke(app, [*given, "--lambda", "0.2,0.6", "--split", "a:0.5,b:0.5"])
    assert done.exit_code == 0, done.output
    assert "truth is the most central option" in done.output and "mcic: " in done.output
    assert len([line for line in done.output.splitlines() if line.startswith("wmgs-rank")]) == 2
    assert done.output.count(" *") == 1
    card = json.loads((tmp_path / "out" / "benchmark.json").read_text())
    assert card["made"]["lambda"] in (0.2, 0.6) and list(card["made"]["statistics"]) == ["a", "b"]
    assert card["made"]["guards"]["doubt"] == 0.1
    more = [*given, "--overwrite", "--without", "all", "--json"]
    shown = json.loads(CliRunner().invoke(app, more).stdout)
    assert shown["made"]["guards"]["doubt"] == 1.0
