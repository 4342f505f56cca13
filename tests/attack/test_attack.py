"""Attackers that never look: they find what is planted, and nothing where nothing is."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from tellapart import seeds
from tellapart.attack.attack import crossfitted_features
from tellapart.attack.choices import caption_choices, paired_choices
from tellapart.attack.features import LENGTH, MARKS, WORDS
from tellapart.attack.logit import logit_scores
from tellapart.attack.statistics import CaptionSource, WordStatistics
from tellapart.attack.trees import tree_scores
from tellapart.benchmark.table import ItemTable
from tellapart.items import Grid, Item, Origin

THINGS = ("dog", "cat", "horse", "cow", "bird", "sheep")
PLACES = ("on a sofa", "in a field", "near a tree", "by the water", "under a table")


def made_pairs(count: int, seed: int = 0) -> tuple[list[tuple[str, str]], list[str]]:
    """Pairs in which nothing tells the true text from the false one."""
    rng = seeds.rng(seed, "pairs")
    pairs = []
    for _ in range(count):
        first, second = rng.permutation(THINGS)[:2]
        place = PLACES[int(rng.integers(len(PLACES)))]
        pairs.append((f"A {first} {place}", f"A {second} {place}"))
    return pairs, [f"image{k}" for k in range(count)]


def attacked(
    pairs: list[tuple[str, str]], images: list[str], families: frozenset[str] | None = None
) -> float:
    choices = paired_choices(pairs, ["pair"] * len(pairs), images)
    source = CaptionSource.of_texts("test", images, [true for true, _ in pairs])
    fold = choices.folds(0)
    features = crossfitted_features(choices, source, fold)
    return float(choices.share_right(logit_scores(features, choices, fold, families)).mean())


def test_pairs_that_nothing_tells_apart_are_at_chance() -> None:
    pairs, images = made_pairs(400)
    assert attacked(pairs, images) == pytest.approx(0.5, abs=0.08)


@pytest.mark.parametrize(
    ("family", "plant"),
    [
        (MARKS, lambda true, false: (true + ".", false)),
        (WORDS, lambda true, false: (true, false.replace("A ", "Some "))),
        (LENGTH, lambda true, false: (true + " today", false)),
    ],
)
def test_a_planted_leak_is_found_by_its_family(family, plant) -> None:  # type: ignore[no-untyped-def]
    pairs, images = made_pairs(300)
    leaking = [plant(*pair) for pair in pairs]
    assert attacked(leaking, images) == 1.0
    assert attacked(leaking, images, frozenset({family})) == 1.0


def test_words_that_go_together_are_known_from_other_images_only() -> None:
    # Dogs are on sofas, cows in fields: a foil is at the wrong place. Without statistics from other
    # images there is nothing to know it by.
    rng = seeds.rng(0, "together")
    home = {"dog": "on a sofa", "cow": "in a field"}
    true = ["dog" if rng.random() < 0.5 else "cow" for _ in range(300)]
    pairs = [(f"A {t} {home[t]}", f"A {'cow' if t == 'dog' else 'dog'} {home[t]}") for t in true]
    images = [f"i{k}" for k in range(300)]
    assert attacked(pairs, images) == 1.0
    one_group = paired_choices(pairs, ["pair"] * 300, images, group=["same"] * 300)
    source = CaptionSource.of_texts("test", images, [text for text, _ in pairs])
    fold = one_group.folds(0)
    features = crossfitted_features(one_group, source, fold)
    assert one_group.share_right(logit_scores(features, one_group, fold)).mean() == 0.5


def test_trees_find_what_a_line_cannot() -> None:
    # The true text is longer where it has many words and shorter where it has few.
    rng = seeds.rng(0, "curve")
    pairs, images = [], []
    for k in range(600):
        size = int(rng.integers(1, 4))
        middle = {1: 3, 2: 7, 3: 3}[size]
        words = ["very"] * middle
        pairs.append((" ".join(["big"] * (5 if size == 2 else 9)), " ".join(words)))
        images.append(f"i{k}")
    choices = paired_choices(pairs, ["pair"] * len(pairs), images)
    source = CaptionSource.of_texts("test", images, [text for text, _ in pairs])
    fold = choices.folds(0)
    features = crossfitted_features(choices, source, fold)
    assert choices.share_right(tree_scores(features, choices, fold)).mean() == 1.0


def test_pair_counts_equal_an_obvious_slow_version() -> None:
    texts = ["a dog on a sofa", "a cat on a sofa", "a dog in a field", "two dogs run", "a sofa"]
    images = ["1", "1", "2", "3", "4"]
    source = CaptionSource.of_texts("test", images, texts)
    fold = source.folds({"1": 0, "2": 1})
    assert fold.tolist() == [0, 0, 1, -1, -1]
    statistics = WordStatistics(source, fold, 2)
    number = source.vocabulary
    for own in (0, 1):
        rest = [t.split() for t, f in zip(texts, fold.tolist(), strict=True) if f != own]
        pairs = Counter(
            pair
            for words in rest
            for a, b in combinations(words, 2)
            if a != b
            for pair in ((a, b), (b, a))
        )
        margin: Counter[str] = Counter()
        for (a, _), times in pairs.items():
            margin[a] += times
        for a, b in (("dog", "sofa"), ("a", "sofa"), ("cat", "dog")):
            expected = margin[a] * margin[b] / margin.total()
            slow = math.log((pairs[a, b] + 1) / (expected + 1))
            fast = statistics.in_caption.surprise(np.array([number[a]]), np.array([number[b]]), own)
            assert fast[0] == pytest.approx(slow)
        frequency = Counter(word for words in rest for word in words)
        assert (
            statistics.counts[number["dog"], -1] - statistics.counts[number["dog"], own]
            == (frequency["dog"])
        )


def item(image: str, captions: tuple[str, ...], right: int, kind: str = "k") -> Item:
    grid = Grid.caption_choice(image, captions, range(len(captions)), right=right)
    return Item.built("t", grid, kind=kind, origin=Origin("test"))


def test_choices_follow_the_grid() -> None:
    items = ItemTable.of(
        [
            item("val2014/COCO_val2014_000000000139.jpg", ("a", "b", "c"), 1),
            Item.built(
                "t",
                Grid.square(("x", "y"), ("first", "second"), (1, 0), (1, 0)),
                kind="square",
                origin=Origin("test"),
            ),
            Item.built(
                "t",
                Grid.image_choice(("x", "y"), ("which?",), (0, 1)),
                kind="i",
                origin=Origin("t"),
            ),
        ]
    )
    choices = caption_choices(items)
    shown = [choices.texts[k] for k in choices.text]
    assert shown == ["a", "b", "c", "second", "first"]
    assert choices.right.tolist() == [False, True, False, False, True]
    assert choices.item.tolist() == [0, 1]
    assert choices.images[0] == ("139",)
    assert choices.share_right(np.array([1.0, 1.0, 0.0, 0.0, 0.0])).tolist() == [0.5, 0.5]
    assert choices.margins(np.array([1.0, 3.0, 0.0, 1.0, 0.0])).tolist() == [2.0, -1.0]
    some = choices.some(np.array([False, True]))
    assert [some.texts[k] for k in some.text] == ["second", "first"]


def test_equal_options_share_the_answer() -> None:
    choices = paired_choices([("same", "same")] * 60, ["k"] * 60, [f"{k}" for k in range(60)])
    source = CaptionSource.of_texts("t", ["0"], ["same"])
    fold = choices.folds(1)
    features = crossfitted_features(choices, source, fold)
    assert (choices.share_right(logit_scores(features, choices, fold)) == 0.5).all()
    assert (choices.share_right(tree_scores(features, choices, fold)) == 0.5).all()


def test_that_the_source_knows_a_word_says_nothing() -> None:
    # Each text has a word of its own. The source has the true captions, so that it knows the words
    # of the truth and none of the others: an attacker must not see which.
    letters = "abcdefghij"
    names = ["".join(letters[int(c)] for c in f"{k:03}") for k in range(200)]
    pairs = [(f"a {name}x sits", f"a {name}y sits") for name in names]
    assert attacked(pairs, names) == 0.5


def twins(pairs: int, named: bool) -> ItemTable:
    """Of two words each is true once; every pair has words of its own, and two places."""
    rng = seeds.rng(0, "twins")
    items = []
    for k in range(pairs):
        words = [f"{first}{k}" for first in rng.permutation(THINGS)[:2]]
        for place, (true, false) in zip(
            rng.permutation(PLACES), (words, words[::-1]), strict=False
        ):
            grid = Grid.caption_choice(
                f"{k}{true}", (f"A {true} {place}", f"A {false} {place}"), (0, 1)
            )
            notes = {"twins": f"pair {k}"} if named else {}
            items.append(Item.built("test", grid, kind="k", origin=Origin("test", notes=notes)))
    return ItemTable.of(items).grouped()


def test_twins_stay_together_so_that_one_does_not_tell_about_the_other() -> None:
    """Whoever knows what is true of one knows what is false of the other, without any text."""
    shares = {}
    for named in (True, False):
        table = twins(150, named)
        choices = caption_choices(table)
        source = CaptionSource.of_items(table)
        fold = choices.folds(0)
        features = crossfitted_features(choices, source, fold)
        shares[named] = choices.share_right(logit_scores(features, choices, fold)).mean()
    assert shares[True] == pytest.approx(0.5, abs=0.08)
    assert abs(shares[False] - 0.5) > 0.2
