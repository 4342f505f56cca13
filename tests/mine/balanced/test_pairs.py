"""Balanced pairs: who finds them, what is asked, and that text alone gets half."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.mine.balanced import pairs as module
from tellapart.mine.balanced.candidates import PairCandidate, exchanged
from tellapart.mine.balanced.counterparts import Heard, edges_of, slots_of
from tellapart.mine.balanced.pairs import BalancedPairs, balanced_pairs
from tellapart.mine.balanced.statements import heard, statements
from tellapart.text.english import put
from tellapart.text.parse import parse
from tellapart.text.tokens import tokens
from tellapart.verbs.build.foil import FoilOptions
from tellapart.verbs.build.negatives import NegativesOptions

pytest.importorskip("spacy", reason="spaCy is not installed")
Asked = Callable[[str, str, str], bool]


def candidate(image: str, true: str, was: str, now: str, kind: str = "animal") -> PairCandidate:
    """A candidate that puts one word for another in the caption of an image."""
    start = true.index(was)
    false = put(true, start, start + len(was), now)
    return PairCandidate(
        f"{image} {true}", image, kind, true, false, start, start + len(was), now, was, now
    )


def found(candidates: Sequence[PairCandidate], may_be: Asked | None = None, **more: int):  # type: ignore[no-untyped-def]
    return balanced_pairs(candidates, parse, may_be or (lambda *asked: True), **more)


def told(pairs: BalancedPairs) -> set[tuple[str, str, str, str]]:
    """For each pair: image, its true text, the other image, its true text."""
    image = [one.image for one in pairs.candidates]
    return {(image[p.first], p.text, image[p.second], p.other) for p in pairs.pairs}


def test_a_caption_is_asked_of_a_picture_whose_captions_say_the_same_of_another_thing():
    assert told(
        found(
            [
                candidate("a", "A dog sleeping on a bed.", "dog", "cat"),
                candidate("b", "The cat is sleeping on a bed.", "cat", "dog"),
            ]
        )
    ) in (
        {("a", "A dog sleeping on a bed.", "b", "A cat sleeping on a bed.")},
        {("b", "The cat is sleeping on a bed.", "a", "The dog is sleeping on a bed.")},
    )


def test_several_captions_of_a_picture_speak_together_and_what_none_says_is_left_out():
    pairs = found(
        [
            candidate("a", "A big brown dog on a bed.", "dog", "cat"),
            candidate("b", "A cat on a bed.", "cat", "dog"),
            candidate("b", "A brown cat.", "cat", "dog"),
        ]
    )
    assert ("a", "A brown dog on a bed.", "b", "A brown cat on a bed.") in told(pairs)
    assert not any("big" in text for row in told(pairs) for text in row)


@pytest.mark.parametrize(
    "other",
    [
        candidate("b", "A cat under a bed.", "cat", "dog"),
        candidate("b", "A cat on a bed.", "cat", "horse"),
        candidate("b", "A cat on a bed.", "cat", "dog", "vehicle"),
        candidate("a", "A cat on a bed.", "cat", "dog"),
    ],
    ids=["says otherwise", "may show a dog too", "other kind", "same picture"],
)
def test_no_pair_without_a_counterpart_that_says_the_same(other):
    assert not found([candidate("a", "A dog on a bed.", "dog", "cat"), other]).pairs


def test_a_colour_is_exchanged_in_the_same_thing():
    kind = "replace-attribute"
    one = candidate("a", "A red bus on a street.", "red", "blue", kind)
    same = candidate("b", "A blue bus on a street.", "blue", "red", kind)
    car = candidate("b", "A blue car behind a bus on a street.", "blue", "red", kind)
    assert len(found([one, same]).pairs) == 1
    assert not found([one, car]).pairs


def test_pairs_are_those_of_the_obvious_search():
    """For whole captions: every picture with a counterpart, one of whose captions says it all."""
    scenes = ("on a bed", "under a table", "near a window", "on a bed near a window")
    made = [
        candidate(f"{was}{k}", f"A {was} {scene}.", was, now)
        for k, scene in enumerate(scenes)
        for was, now in (("dog", "cat"), ("cat", "dog"), ("dog", "cow"), ("cow", "dog"))
    ]

    def truths(one: PairCandidate) -> set[tuple[str, ...]]:
        own = parse([one.true])[0]
        return heard(statements(own, {t.place for t in own if t.text == one.was}))

    def says_all(one: PairCandidate, other: PairCandidate) -> bool:
        own = parse([one.true])[0]
        said = statements(own, {t.place for t in own if t.text == one.was})
        return {own.statement for own in said if own.places} <= truths(other)

    slow = {
        (one.image, other.image)
        for one in made
        for other in made
        if (one.was, one.now) == (other.now, other.was)
        and says_all(one, other)
        and one.image != other.image
    }
    slots = slots_of(made, parse)
    known = Heard.of(slots)
    edges = [edge for k in range(len(slots)) for edge in edges_of(slots, k, known)]
    whole = {(slots[e.slot].image, e.image) for e in edges if not e.left_out}
    assert whole == slow and len(slow) >= 12


def animals(number: int) -> list[PairCandidate]:
    places = ("on a bed", "in a field", "near a tree")
    return [
        candidate(f"{was}{k}", f"A {was} {place} and a {thing}.", was, now)
        for k in range(number)
        for was, now in (("dog", "cat"), ("cat", "dog"))
        for place, thing in [(places[k % 3], f"{'big ' * (k % 2)}ball")]
    ]


def test_a_limit_keeps_pairs_whole_and_the_same_seed_gives_the_same():
    every = found(animals(12))
    some = found(animals(12), items=5)
    assert len(some.pairs) == 2 < len(every.pairs)
    assert some.pairs == found(animals(12), items=5).pairs
    assert {found(animals(12), items=5, seed=k).pairs for k in range(4)} != {some.pairs}


def test_an_item_that_is_refused_takes_the_other_along():
    every = told(found(animals(12)))
    refused = {row[0] for row in every}
    asked: list[tuple[str, str, str]] = []

    def may_be(image: str, true: str, false: str) -> bool:
        asked.append((image, true, false))
        return image not in refused

    assert not found(animals(12), may_be).pairs
    assert all(true != false for _, true, false in asked)


def test_no_image_is_asked_too_often_and_clusters_stay_small(monkeypatch):
    monkeypatch.setattr(module, "PER_IMAGE", 2)
    monkeypatch.setattr(module, "CLUSTER", 4)
    monkeypatch.setattr(module, "REPEATS", 100)
    pairs = found(animals(30))
    times = Counter(image for row in told(pairs) for image in (row[0], row[2]))
    assert max(times.values()) <= 2
    linked = module.Clusters()
    sizes = Counter()
    for one, _, other, _ in told(pairs):
        linked.join(one, other)
    for image in times:
        sizes[linked._root(image)] += 1
    assert max(sizes.values()) <= 4


def test_the_same_two_captions_are_asked_of_few_pictures():
    pairs = found([one for one in animals(30) if " a ball" in one.true and "bed" in one.true])
    assert 0 < len(pairs.pairs) <= module.REPEATS


def test_an_article_is_no_part_of_what_is_exchanged():
    assert exchanged("A dog on an old bed.", "An owl on an old bed.") == (2, 5, "owl")
    assert exchanged("A red bus.", "A dark blue bus.") == (2, 5, "dark blue")
    assert exchanged("One dog.", "Two dogs run.") == (0, 7, "Two dogs run")


def test_spans_say_where_the_exchanged_words_are():
    pairs = found(
        [
            candidate("a", "There is an old dog on a red bed.", "dog", "owl"),
            candidate("b", "An owl on a bed.", "owl", "dog"),
        ]
    )
    (pair,) = pairs.pairs
    words = {pair.text[slice(*pair.span)], pair.other[slice(*pair.other_span)]}
    assert words == {"dog", "owl"}


def corpus() -> Corpus:
    """Pictures of animals in places, told by three people each."""
    rows, images = [], []
    names = ("dog", "cat", "horse", "cow", "sheep", "bear")
    places = ("on a bench", "in a field", "near a tree", "on a bed", "under a table")
    for k, name in enumerate(names * 10):
        image, place = f"i{k}", places[k % len(places)]
        images.append({"id": image, "uri": f"{image}.jpg", "objects": [name]})
        for n, text in enumerate(
            (
                f"A {name} sleeping {place}.",
                f"A brown {name} is {place} with a ball.",
                f"There is a brown {name} sleeping {place}",
            )
        ):
            rows.append({"id": f"c{k}-{n}", "image": image, "text": text})
    return make_corpus("animals", Path(), images, rows)


@pytest.fixture(scope="module", params=["foil", "negatives"])
def built(request, tmp_path_factory) -> Benchmark:
    out = tmp_path_factory.mktemp("built") / request.param
    own = {
        "foil": FoilOptions(look=False, split="none"),
        "negatives": NegativesOptions(look=False, kinds=("replace-object",)),
    }
    return ta.build(request.param, corpus(), out, own[request.param])


def by_twins(benchmark: Benchmark) -> list[list[Item]]:
    pairs: dict[str, list[Item]] = {}
    for item in benchmark.items:
        pairs.setdefault(item.origin.notes["twins"], []).append(item)
    return [*pairs.values()]


def true_of(item: Item) -> str:
    ((_, caption),) = item.true
    return item.captions[caption]


def test_built_items_come_in_pairs_with_the_same_captions_of_which_each_is_true_once(built):
    pairs = by_twins(built)
    assert len(pairs) >= 10
    for one, other in pairs:
        assert {*one.captions} == {*other.captions}
        assert true_of(one) != true_of(other) and one.images != other.images
        assert one.captions == other.captions, "who goes by places is right on half, too"
        assert one.group == other.group
        assert one.origin.notes["twins"] in (one.id, other.id)


def test_a_subset_has_both_items_of_a_pair_or_neither(built, tmp_path):
    one = frozenset(item.id for item in built.items[1:])
    whole = ta.subset(built, tmp_path / "whole", ta.SubsetOptions(ids=one))
    assert len(whole) == len(built) - 2 and all(len(pair) == 2 for pair in by_twins(whole))
    some = ta.subset(built, tmp_path / "some", ta.SubsetOptions(limit=7))
    assert len(some) == 6 and all(len(pair) == 2 for pair in by_twins(some))
    other = ta.subset(built, tmp_path / "other", ta.SubsetOptions(limit=7, seed=1))
    assert {i.id for i in other.items} != {i.id for i in some.items}
    apart = ta.SubsetOptions(ids=one, whole_pairs=False)
    assert len(ta.subset(built, tmp_path / "apart", apart)) == len(built) - 1


@pytest.mark.parametrize("score", [len, hash, lambda text: text.count("dog")])
def test_whoever_reads_alone_is_right_on_half(built, score):
    right = 0.0
    for item in built.items:
        scores = {text: score(text) for text in item.captions}
        best = [text for text in item.captions if scores[text] == max(scores.values())]
        right += (true_of(item) in best) / len(best)
    assert right == len(built) / 2


def test_attackers_get_half_and_the_card_says_so(built):
    made = built.card.made
    assert made["text_alone"]["value"] == 50.0 and made["text_alone"]["n"] == len(built)
    assert made["fair"]["kept"] == len(built)


def test_a_foils_words_and_places_are_those_of_the_shortened_caption(built):
    items = [item for item in built.items if item.slot]
    if built.card.name != "foil":
        assert not items
        return
    assert len(items) == len(built)
    for item in items:
        slot = item.slot
        text = item.captions[slot.caption]
        assert text != true_of(item)
        assert text[slot.start : slot.end] == slot.foil
        assert slot.target in tokens(true_of(item)) and slot.target in slot.candidates
        assert slot.foil not in slot.candidates or item.origin.notes["foil"] != slot.target
        words = [text[word.start : word.end] for word in slot.words]
        assert slot.foil in words and len(words) >= 2
        assert all(word.strip() == word and word in text for word in words)


def test_fair_foils_need_a_parser_and_choose_no_hardest(tmp_path):
    with pytest.raises(BadInput, match="need a parser"):
        ta.build("foil", corpus(), tmp_path / "a", FoilOptions(parser="none", look=False))
    with pytest.raises(BadInput, match="text alone may tell"):
        ta.build("foil", corpus(), tmp_path / "b", FoilOptions(hardest="random", look=False))


def test_a_corpus_without_like_pictures_says_what_to_do(tmp_path):
    rows = [
        {"id": f"c{k}{n}", "image": f"i{k}", "text": text}
        for k, text in enumerate(("A dog reading a paper.", "A cat painting a wall."))
        for n in (0, 1)
    ]
    images = [{"id": f"i{k}", "uri": "x.jpg", "objects": [o]} for k, o in enumerate(("dog", "cat"))]
    lonely = make_corpus("two", Path(), images, rows)
    with pytest.raises(BadInput, match=r"none of the .* is true of another image") as error:
        ta.build("foil", lonely, tmp_path / "f", FoilOptions(look=False, split="none"))
    assert "--unfiltered" in str(error.value)
