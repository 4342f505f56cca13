"""Choosing balanced pairs among all that are possible: those that say most come first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tellapart import seeds
from tellapart.items import no_garbage_collection
from tellapart.mine.balanced.candidates import PairCandidate
from tellapart.mine.balanced.counterparts import Edge, Exchange, Heard, edges_of, slots_of
from tellapart.mine.balanced.shortening import cuts
from tellapart.mine.balanced.statements import ARTICLES, heard
from tellapart.mine.negatives.checks import is_fluent
from tellapart.mine.negatives.negative import Change, changed
from tellapart.text.parses import Parse
from tellapart.text.tokens import tokens
from tellapart.types import Progress, silent

PER_IMAGE = 6
"""In how many pairs an image may be."""
CLUSTER = 20
"""How many images may be connected through pairs: statistics need many independent groups."""
REPEATS = 3
"""How many pairs may have the same two captions."""
END = re.compile(r"\s*([.!]?)[\s.!]*$")
"""Marks and white space at the end of a caption, of which one mark stays."""
BE = frozenset("is are was were".split())


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
        slots = slots_of(candidates, parsed)
        known = Heard.of(slots)
        edges: list[Edge] = []
        for number in range(len(slots)):
            edges += edges_of(slots, number, known)
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


class _Chooser:
    """Takes pairs one after the other while images, captions and texts allow."""

    def __init__(
        self, slots: Sequence[Exchange], known: Heard, candidates: Sequence[PairCandidate]
    ) -> None:
        self.slots, self.known, self.candidates = slots, known, candidates
        self.clusters = Clusters()
        self.times: Counter[str] = Counter()
        self.used: set[tuple[str, str]] = set()
        self.texts: Counter[frozenset[str]] = Counter()
        self.asked: set[tuple[str, frozenset[str]]] = set()

    def take(self, edge: Edge) -> Iterator[BalancedPair]:
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

    def _counterpart(self, slot: Exchange, edge: Edge) -> Exchange:
        """The other image's slot that says most of the same."""
        own = {one.statement for one in slot.said if edge.left_out.isdisjoint(one.places)}
        places = self.known.slots[edge.image, slot.kind, edge.now, slot.was]
        return max(
            (self.slots[place] for place in places), key=lambda other: len(own & heard(other.said))
        )


def _written(
    candidates: Sequence[PairCandidate], slot: Exchange, counterpart: Exchange, edge: Edge
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
