"""Finding balanced pairs: which caption of one picture, with another word, is true of another.

A candidate says that `cat` for `dog` makes a caption of picture A false. If picture B has a
candidate with `dog` for `cat`, and B's captions make all statements of A's caption about a cat,
both texts can be asked of both pictures. What B's captions do not say is left out where possible.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tellapart import seeds
from tellapart.items import no_garbage_collection
from tellapart.mine.balanced.shortening import cuts, is_complete, opening, parts
from tellapart.mine.balanced.statements import (
    ARTICLES,
    SLOT,
    Said,
    Statement,
    heard,
    statements,
)
from tellapart.mine.negatives.checks import is_fluent
from tellapart.mine.negatives.negative import Change, changed
from tellapart.mine.negatives.phrases import GROUPS
from tellapart.text.parses import Parse, Token
from tellapart.text.tokens import spans, tokens
from tellapart.types import Progress, silent

PER_IMAGE = 6
"""In how many pairs an image may be."""
CLUSTER = 20
"""How many images may be connected through pairs: statistics need many independent groups."""
REPEATS = 3
"""How many pairs may have the same two captions."""
ANCHORED = frozenset(("replace-attribute", "add-attribute", "replace-relation"))
"""Kinds whose counterpart must exchange its word in the same statement: a thing is in a picture or
not, whatever is said of it, but one thing may be red and another blue."""
CONTENT = frozenset(("NOUN", "PROPN", "VERB", "ADJ", "NUM", "ADV"))
END = re.compile(r"\s*([.!]?)[\s.!]*$")
"""Marks and white space at the end of a caption, of which one mark stays."""
BE = frozenset("is are was were".split())
VIEWS = frozenset(
    "view picture photo photograph image closeup close shot scene end part side".split()
)
ENOUGH = 2
"""So many content words beside what is exchanged make a caption, or one for another thing."""


@dataclass(frozen=True, slots=True)
class PairCandidate:
    """A true and a false text of an image, made from the caption `caption` (its id).

    true[start:end] is what is exchanged, for `put`. `was` and `now` name it in the true and the
    false text; a candidate of another image with both names exchanged may be its counterpart.
    """

    caption: str
    image: str
    kind: str
    true: str
    false: str
    start: int
    end: int
    put: str
    was: str
    now: str


def exchanged(true: str, false: str) -> tuple[int, int, str]:
    """Where two texts differ, by whole words: the span in the first, and what the second has there.

    An article that only follows suit (`a dog`, `an owl`) is no part of it.

    >>> exchanged("See a dog run.", "See an owl run.")
    (6, 9, 'owl')
    """
    one, other = list(spans(true)), list(spans(false))
    here, there = [word for *_, word in one], [word for *_, word in other]
    shorter = min(len(one), len(other))
    first = next((k for k in range(shorter) if here[k] != there[k]), shorter)
    last = next((k for k in range(shorter - first) if here[-1 - k] != there[-1 - k]), None)
    last = shorter - first if last is None else last
    if {*here[first : first + 1], *there[first : first + 1]} == {"a", "an"}:
        first += 1
    if first >= len(one) - last or first >= len(other) - last:
        return (0, len(true), false)
    return (
        one[first][0], one[len(one) - last - 1][1],
        false[other[first][0] : other[len(other) - last - 1][1]],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class BalancedPair:
    """Two candidates, by their places, and two texts.

    `text` is true of the first one's image and false of the second one's, `other` the reverse; the
    spans say where what is exchanged begins and ends in each.
    """

    first: int
    second: int
    text: str
    other: str
    span: tuple[int, int]
    other_span: tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class BalancedPairs:
    """Pairs that were chosen among candidates."""

    pairs: tuple[BalancedPair, ...]
    candidates: Sequence[PairCandidate]
    possible: int = 0

    def card(self) -> dict[str, Any]:
        """What a card says of them."""
        captions = len({(one.kind, one.caption) for one in self.candidates})
        return {
            "fair": {
                "by": "balanced pairs: both captions are asked of both images, true of one each",
                "candidates": len(self.candidates),
                "captions_with_candidates": captions,
                "pairs_possible": self.possible,
                "kept": 2 * len(self.pairs),
                "share_of_captions": round(2 * len(self.pairs) / max(captions, 1), 4),
            }
        }


@dataclass(frozen=True, eq=False)
class _Slot:
    """What is exchanged in one text: `ways` leads from each other name to a candidate's place."""

    image: str
    kind: str
    caption: str
    was: str
    ways: Mapping[str, int]
    parse: Parse
    tokens: frozenset[int]
    said: tuple[Said, ...]

    @cached_property
    def anchors(self) -> frozenset[Statement]:
        """What follows from statements about what is exchanged."""
        return frozenset(one for one in heard(self.said) if SLOT in one)


@dataclass(frozen=True, slots=True)
class _Edge:
    """A slot and another image that may show the same with another name in it."""

    slot: int
    now: str
    image: str
    content: int
    left_out: frozenset[int]
    cut: int


@dataclass(eq=False)
class _Heard:
    """What the captions of images say about what candidates exchange."""

    images: dict[tuple[str, str, Statement], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )
    statements: dict[tuple[str, str, str], set[Statement]] = field(
        default_factory=lambda: defaultdict(set)
    )
    slots: dict[tuple[str, str, str, str], list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @classmethod
    def of(cls, slots: Sequence[_Slot]) -> _Heard:
        """By image, kind and name."""
        known = cls()
        for number, slot in enumerate(slots):
            truths = heard(slot.said)
            known.statements[slot.image, slot.kind, slot.was] |= truths
            for statement in truths:
                known.images[slot.kind, slot.was, statement].add(slot.image)
            for now in slot.ways:
                known.slots[slot.image, slot.kind, slot.was, now].append(number)
        return known


def balanced_pairs(
    candidates: Sequence[PairCandidate],
    parsed: Callable[[Sequence[str]], Sequence[Parse]],
    may_be: Callable[[str, str, str], bool],
    *,
    items: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> BalancedPairs:
    """Choose pairs; `parsed` reads true texts, `may_be` has the last word on each item.

    It is given an image, a text that is to be true of it, and one that is to be false.
    """
    with no_garbage_collection():
        slots = _slots(candidates, parsed)
        known = _Heard.of(slots)
        edges: list[_Edge] = []
        for number in range(len(slots)):
            edges += _edges(slots, number, known)
            progress("pairs", number + 1, len(slots))
    lots = seeds.rng(seed, "balanced", "lots").random(len(edges))
    order = sorted(range(len(edges)), key=lambda k: (-edges[k].content, edges[k].cut, lots[k]))
    chooser = _Chooser(slots, known, candidates)
    found = [pair for k in order for pair in chooser.take(edges[k])]
    drawn = seeds.rng(seed, "balanced", "items").permutation(len(found)).tolist()
    kept: list[BalancedPair] = []
    for k in drawn:
        if items is not None and 2 * len(kept) + 2 > items:
            break
        pair = found[k]
        one, other = (candidates[place].image for place in (pair.first, pair.second))
        if may_be(one, pair.text, pair.other) and may_be(other, pair.other, pair.text):
            kept.append(pair)
    return BalancedPairs(tuple(kept), candidates, len(found))


def _slots(
    candidates: Sequence[PairCandidate], parsed: Callable[[Sequence[str]], Sequence[Parse]]
) -> list[_Slot]:
    """Candidates that exchange the same words of the same text, together."""
    groups: dict[tuple[Any, ...], dict[str, int]] = {}
    for place, one in enumerate(candidates):
        key = (one.true, one.start, one.end, one.image, one.kind, one.caption, one.was)
        groups.setdefault(key, {}).setdefault(one.now, place)
    texts = list(dict.fromkeys(key[0] for key in groups))
    by_text: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for key in groups:
        by_text[key[0]].append(key)
    slots = []
    for text, parse in zip(texts, parsed(texts), strict=True):
        for key in by_text[text]:
            _, start, end, image, kind, caption, was = key
            places = frozenset(t.place for t in parse if t.begin < end and t.end > start)
            said = tuple(statements(parse, places))
            slots.append(_Slot(image, kind, caption, was, groups[key], parse, places, said))
    return slots


def _edges(slots: Sequence[_Slot], number: int, known: _Heard) -> Iterator[_Edge]:
    """The images for which some of a slot's caption is true with another name in it."""
    slot = slots[number]
    begin = _opening(slot)
    loose = [part for part in parts(slot.parse) if not part & (slot.tokens | begin)]
    anywhere = begin.union(*loose)
    made = [one for one in slot.said if one.places and begin.isdisjoint(one.places)]
    base = {one.statement for one in made if anywhere.isdisjoint(one.places)}
    of_parts = [
        {one.statement for one in made if not part.isdisjoint(one.places)} for part in loose
    ]
    anchors = frozenset(statement for statement in base if SLOT in statement)
    for now in slot.ways:
        for image in sorted(_images(slot.kind, now, base, of_parts, known)):
            counterparts = known.slots.get((image, slot.kind, now, slot.was), ())
            if image == slot.image or not counterparts:
                continue
            if slot.kind in ANCHORED and not any(
                anchors <= slots[other].anchors for other in counterparts
            ):
                continue
            true = known.statements[image, slot.kind, now]
            unsaid = [part for part, own in zip(loose, of_parts, strict=True) if not own <= true]
            left_out = begin.union(*unsaid)
            rest = [t for t in slot.parse if t.place not in left_out and t.place not in slot.tokens]
            content = sum(token.pos in CONTENT for token in rest)
            thing = slot.kind not in ANCHORED and any(_is_thing(token) for token in rest)
            if not (content >= ENOUGH or thing) or (left_out and any(map(_is_loose, rest))):
                continue
            if is_complete(slot.parse, left_out):
                yield _Edge(number, now, image, content, left_out, len(left_out - begin))


def _opening(slot: _Slot) -> frozenset[int]:
    """What the caption begins with that says nothing, if one statement at most leads on."""
    begin = opening(slot.parse)
    leading = [
        one for one in slot.said if begin & {*one.places} and not begin.issuperset(one.places)
    ]
    return begin if begin.isdisjoint(slot.tokens) and len(leading) < 2 else frozenset()


def _is_loose(token: Token) -> bool:
    """Whether a word may have lost what it goes with: a pronoun, or what a comma joins."""
    return token.text == "," or (token.pos == "PRON" and token.tag == "PRP")


def _is_thing(token: Token) -> bool:
    named = token.pos in ("NOUN", "PROPN") and token.dep != "compound"
    return named and token.lemma.lower() not in GROUPS | VIEWS


def _images(
    kind: str,
    now: str,
    base: set[Statement],
    of_parts: Sequence[set[Statement]],
    known: _Heard,
) -> set[str]:
    """The images whose captions make all statements of the base, or else those of some part."""
    if base:
        found = sorted((known.images.get((kind, now, one), set()) for one in base), key=len)
        return found[0].intersection(*found[1:])
    by_part = (
        set.intersection(*(known.images.get((kind, now, one), set()) for one in own))
        for own in of_parts
        if own
    )
    return set().union(*by_part)


class _Chooser:
    """Takes pairs one after the other while images, captions and texts allow."""

    def __init__(
        self, slots: Sequence[_Slot], known: _Heard, candidates: Sequence[PairCandidate]
    ) -> None:
        self.slots, self.known, self.candidates = slots, known, candidates
        self.clusters = Clusters()
        self.times: Counter[str] = Counter()
        self.used: set[tuple[str, str]] = set()
        self.texts: Counter[frozenset[str]] = Counter()
        self.asked: set[tuple[str, frozenset[str]]] = set()

    def take(self, edge: _Edge) -> Iterator[BalancedPair]:
        """The pair of an edge, if there is room for it."""
        slot = self.slots[edge.slot]
        if self._is_full(slot.image) or self._is_full(edge.image):
            return
        if (slot.kind, slot.caption) in self.used:
            return
        counterpart = self._counterpart(slot, edge)
        pair = _written(self.candidates, slot, counterpart, edge)
        if pair is None:
            return
        texts = frozenset(map(_essence, (pair.text, pair.other)))
        asked = {(one.image, texts) for one in (slot, counterpart)}
        if self.texts[texts] >= REPEATS or not asked.isdisjoint(self.asked):
            return
        if not self.clusters.join(slot.image, edge.image):
            return
        self.texts[texts] += 1
        self.asked |= asked
        self.used.add((slot.kind, slot.caption))
        for image in (slot.image, edge.image):
            self.times[image] += 1
        yield pair

    def _is_full(self, image: str) -> bool:
        return self.times[image] >= PER_IMAGE

    def _counterpart(self, slot: _Slot, edge: _Edge) -> _Slot:
        """The other image's slot that says most of the same."""
        own = {one.statement for one in slot.said if edge.left_out.isdisjoint(one.places)}
        places = self.known.slots[edge.image, slot.kind, edge.now, slot.was]
        return max(
            (self.slots[place] for place in places), key=lambda other: len(own & heard(other.said))
        )


def _written(
    candidates: Sequence[PairCandidate], slot: _Slot, counterpart: _Slot, edge: _Edge
) -> BalancedPair | None:
    """Both texts without what is left out; None if what remains is no good caption."""
    first, second = slot.ways[edge.now], counterpart.ways[slot.was]
    one = candidates[first]
    changes = cuts(slot.parse, edge.left_out)
    shift = len(one.false) - len(one.true)
    moved = []
    for change in changes:
        away = shift if change.start >= one.end else 0
        own = Change(change.start + away, change.end + away, "")
        if one.true[change.start : change.end] != one.false[own.start : own.end]:
            return None
        moved.append(own)
    text, other = changed(one.true, changes), changed(one.false, moved)
    if not is_fluent(text) or not is_fluent(other) or text == other:
        return None
    behind = len(one.true) - one.end - sum(c.end - c.start for c in changes if c.start >= one.end)
    end, other_end = len(text) - behind, len(other) - behind
    text, other = END.sub(r"\1", text), END.sub(r"\1", other)
    return BalancedPair(
        first, second, text, other,
        (end - (one.end - one.start), end), (other_end - len(one.put), other_end),
    )  # fmt: skip


def _essence(text: str) -> str:
    """A text without the words that make no difference to what it says."""
    return " ".join(word for word in tokens(text) if word not in ARTICLES and word not in BE)


class Clusters:
    """Images that are connected through pairs, never more than `CLUSTER` of them."""

    def __init__(self) -> None:
        self._above: dict[str, str] = {}
        self._size: Counter[str] = Counter()

    def join(self, one: str, other: str) -> bool:
        """Connect two images, and say whether they are; not if that were too many."""
        low, high = sorted((self._root(one), self._root(other)))
        if low == high:
            return True
        size = (self._size[low] or 1) + (self._size[high] or 1)
        if size > CLUSTER:
            return False
        self._above[high] = low
        self._size[low] = size
        return True

    def _root(self, image: str) -> str:
        while image in self._above:
            image = self._above[image]
        return image
