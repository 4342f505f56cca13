"""BLEU of sentences and of a corpus (Papineni et al. 2002), and of pairs for `pair_bleu`.

The reference length is that of the reference closest in length (of two, the shorter), as in the
COCO scripts and in sacrebleu.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tellapart.errors import UnknownName
from tellapart.text._numba import Array, in_threads, kernel
from tellapart.text.caption_metrics.metric import BuiltInMetric, Marks, Material
from tellapart.text.caption_metrics.references import ReferenceSets
from tellapart.types import Floats, Ints

PLAIN, COCO, FLOOR, ADD, EXP = range(5)


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How matches of n-grams become precisions; `kind` is one of the numbers above.

    PLAIN: a precision of zero makes the score zero (Papineni et al. 2002).
    COCO: (matches + 1e-15) / (n-grams + 1e-9), lengths likewise, as in the COCO scripts.
    FLOOR: `value` matches if there are none (Chen & Cherry 2014, smoothing 1).
    ADD: `value` more matches and n-grams for n > 1 (Lin & Och 2004; Chen & Cherry, smoothing 2).
    EXP: 1/2, 1/4, ... matches for the first, second, ... n without any (smoothing 3, mteval-v13a).

    Except with COCO, a candidate without any matching word always gets zero.
    """

    name: str
    kind: int
    value: float = 0.0


SMOOTHINGS = {
    smoothing.name: smoothing
    for smoothing in (
        Smoothing("none", PLAIN),
        Smoothing("coco", COCO),
        Smoothing("epsilon", FLOOR, 1e-9),
        Smoothing("floor", FLOOR, 0.1),
        Smoothing("add-one", ADD, 1.0),
        Smoothing("exp", EXP),
    )
}


def smoothing_of(smoothing: str | Smoothing) -> Smoothing:
    """The smoothing of a name; a `Smoothing` is returned as it is."""
    if isinstance(smoothing, Smoothing):
        return smoothing
    if smoothing not in SMOOTHINGS:
        raise UnknownName("smoothing", smoothing, SMOOTHINGS)
    return SMOOTHINGS[smoothing]


TINY, SMALL = 1e-15, 1e-9
"""What the COCO scripts add to matches and lengths to avoid division by 0."""
LINE, AHEAD = 16, 16
"""How many n-grams fit in a cache line; how many sentences are prefetched."""


@dataclass(frozen=True, slots=True)
class Bleu:
    """`corpus[k - 1]` and `sentences[k - 1]` (one number for each candidate) are BLEU-k, 0 to 1.

    The corpus score sums matches over all candidates before dividing, so it is not a mean.
    """

    corpus: tuple[float, ...]
    sentences: Floats
    candidate_length: int
    reference_length: int


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """All that BLEU is computed from; for a corpus, the sums over its candidates.

    `matched` and `totals` are n-grams that match and n-grams of each length, shape (rows, n);
    `closest` are the lengths of the references closest in length.
    """

    matched: Ints
    totals: Ints
    closest: Ints

    @classmethod
    def of(cls, sets: ReferenceSets, n: int) -> BleuCounts:
        """One row per candidate."""
        grams, lengths = sets.ngrams(n), sets.sentences.lengths
        matched = np.empty((len(sets), n), np.int64)
        closest = np.empty(len(sets), np.int64)
        in_threads(
            lambda a, b: match_sets(
                grams.ids, grams.counts, grams.starts, sets.starts, lengths, n, matched, closest,
                a, b,
            ),
            len(sets),
        )  # fmt: skip
        return cls(matched, np.maximum(0, lengths[: len(sets), None] - np.arange(n)), closest)

    def summed(self) -> BleuCounts:
        """One row with the sums over all rows."""
        return BleuCounts(
            self.matched.sum(0)[None], self.totals.sum(0)[None], self.closest.sum()[None]
        )

    def scores(
        self, smoothing: str | Smoothing, *, brevity: bool = True, effective_order: bool = False
    ) -> Floats:
        """BLEU-1 to BLEU-n of each row, shape (n, rows)."""
        rule = smoothing_of(smoothing)
        rules = (rule.kind, rule.value, brevity, effective_order)
        scores = np.empty((self.matched.shape[1], len(self.matched)))
        in_threads(
            lambda a, b: score_rows(self.matched, self.totals, self.closest, rules, scores, a, b),
            len(self.matched),
        )
        return scores


def bleu(
    sets: ReferenceSets,
    n: int = 4,
    *,
    brevity: bool = True,
    smoothing: str | Smoothing = "none",
    effective_order: bool = False,
) -> Bleu:
    """BLEU-1 to BLEU-n of each candidate and of all together.

    `effective_order` leaves out n-grams longer than the candidate (sacrebleu's default for
    sentences); otherwise their precision is zero. The smoothings `coco` and `add-one` define a
    precision for them and leave none out.

    >>> sets = ReferenceSets.of(["a dog runs fast"], [["a dog runs", "the dog runs fast"]])
    >>> [round(score, 3) for score in bleu(sets).corpus]
    [1.0, 1.0, 1.0, 0.0]
    """
    counts = BleuCounts.of(sets, n)
    whole = counts.summed()
    how = {"brevity": brevity, "effective_order": effective_order}
    return Bleu(
        corpus=tuple(float(score) for score in whole.scores(smoothing, **how)[:, 0]),
        sentences=counts.scores(smoothing, **how),
        candidate_length=int(whole.totals[0, 0]),
        reference_length=int(whole.closest[0]),
    )


@dataclass(frozen=True, slots=True)
class BleuMetric(BuiltInMetric):
    """BLEU-1 to BLEU-n with a smoothing (see `SMOOTHINGS`), with or without brevity penalty.

    The default smoothing is that of the COCO scripts.
    """

    n: int = 4
    smoothing: str = "coco"
    brevity: bool = True

    cites = "Papineni et al. 2002, BLEU"

    @property
    def name(self) -> str:
        """The name, with any options that differ from the COCO scripts."""
        options = [] if self.brevity else ["brevity=false"]
        options += [f"smoothing={self.smoothing}"] if self.smoothing != "coco" else []
        return f"BLEU-{self.n}" + (f"?{'&'.join(options)}" if options else "")

    @property
    def about(self) -> str:
        """One line."""
        words = "words" if self.n == 1 else f"n-grams of up to {self.n} words"
        return f"precision of {words}, counted over all captions together"

    def marks(self, material: Material) -> Marks:
        """Scores by sentence; the overall score uses summed counts and is not their mean."""
        counts = BleuCounts.of(material.sets, self.n)
        features = np.concatenate([counts.matched, counts.totals, counts.closest[:, None]], axis=1)
        return Marks(self._scores(counts), features.astype(float), self._overall)

    def _scores(self, counts: BleuCounts) -> Floats:
        return np.asarray(counts.scores(self.smoothing, brevity=self.brevity)[self.n - 1])

    def _overall(self, totals: Floats) -> Floats:
        rows = np.rint(totals).astype(np.int64).reshape(-1, 2 * self.n + 1)
        counts = BleuCounts(rows[:, : self.n], rows[:, self.n : -1], rows[:, -1])
        return self._scores(counts).reshape(totals.shape[:-1])


BLEU_1, BLEU_2, BLEU_3, BLEU_4 = (BleuMetric(n) for n in (1, 2, 3, 4))


@kernel
def brevity_penalty(length: float, reference: float, kind: int) -> float:
    """exp(1 - reference / length) for a candidate that is shorter than its reference."""
    if kind == COCO:
        ratio = (length + TINY) / (reference + SMALL)
        return math.exp(1 - 1 / ratio) if ratio < 1 else 1.0
    if length >= reference:
        return 1.0
    return math.exp(1 - reference / length) if length > 0 else 0.0


@kernel
def precision(matched: float, total: float, k: int, kind: int, value: float, empty: int) -> float:
    """The smoothed precision of n-grams of `k` words; `empty` shorter lengths had no match."""
    if kind == COCO:
        return (matched + TINY) / (total + SMALL)
    if kind == ADD and k > 1:
        return (matched + value) / (total + value)
    if total == 0:
        return 0.0
    if matched == 0 and kind == FLOOR:
        return value / total
    if matched == 0 and kind == EXP:
        return 1.0 / ((2 << empty) * total)
    return matched / total


@kernel
def is_left_out(total: float, k: int, kind: int) -> bool:
    """Whether the effective order ends before `k`: no such n-grams, and none from smoothing."""
    return total == 0 and kind != COCO and not (kind == ADD and k > 1)


@kernel
def score_rows(
    matched: Array, totals: Array, references: Array, rules: Array, scores: Array,
    begin: int, end: int,
) -> None:  # fmt: skip
    """BLEU-1 to BLEU-n from rows of matches; `rules` is (kind, value, brevity, effective)."""
    kind, value, brevity, effective = rules
    n = matched.shape[1]
    for s in range(begin, end):
        penalty = 1.0
        if brevity:
            penalty = brevity_penalty(totals[s, 0], references[s], kind)
        if matched[s, 0] == 0 and kind != COCO:
            penalty = 0.0
        product, empty, order = 1.0, 0, 0
        for k in range(n):
            if not (effective and is_left_out(totals[s, k], k + 1, kind)):
                product *= precision(matched[s, k], totals[s, k], k + 1, kind, value, empty)
                order += 1
            if matched[s, k] == 0:
                empty += 1
            scores[k, s] = penalty * product ** (1.0 / max(order, 1))


@kernel
def match_sets(
    ids: Array, counts: Array, starts: Array, sets: Array, lengths: Array, n: int,
    matched: Array, references: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """How many n-grams of each candidate are in its references, and the closest length.

    An n-gram counts at most as often as in the reference that has it most often (clipping).
    """
    room = 0
    for s in range(begin * n, end * n):
        room = max(room, starts[s + 1] - starts[s])
    most = np.empty(room, np.int32)
    for s in range(begin, end):
        closest = lengths[sets[s]]
        for r in range(sets[s] + 1, sets[s + 1]):
            nearer = abs(lengths[r] - lengths[s]) - abs(closest - lengths[s])
            if nearer < 0 or (nearer == 0 and lengths[r] < closest):
                closest = lengths[r]
        references[s] = closest
        for k in range(n):
            first, last = starts[s * n + k], starts[s * n + k + 1]
            most[: last - first] = 0  # indexed by position in the candidate's list: no table needed
            for r in range(sets[s], sets[s + 1]):
                # both lists are sorted by id, so one pass over both finds the shared n-grams
                i, j, stop = first, starts[r * n + k], starts[r * n + k + 1]
                while i < last and j < stop:
                    if ids[i] < ids[j]:
                        i += 1
                    elif ids[i] > ids[j]:
                        j += 1
                    else:
                        most[i - first] = max(most[i - first], counts[j])
                        i += 1
                        j += 1
            total = 0
            for i in range(first, last):
                total += min(counts[i], most[i - first])
            matched[s, k] = total


# Pairs: the n-grams of a sentence are sorted with repetitions (see `sort_grams`), so that the size
# of two lists' intersection is the number of clipped matches. These kernels are here and not beside
# `PairBleu` because a kernel may call only kernels of its own file, and these need the smoothings.


@kernel
def shared(grams: Array, i: int, last: int, j: int, stop: int) -> int:
    """How many members two sorted lists share, with repetition; branch-free for speed."""
    members = 0
    while i < last and j < stop:
        left, right = grams[i], grams[j]
        members += left == right
        i += left <= right
        j += right <= left
    return members


@kernel
def pair_score(matched: Array, length: int, reference: int, rules: Any) -> float:
    """BLEU-n of one pair, from its matches for each length of n-grams."""
    kind, value, brevity, effective = rules
    if matched[0] == 0 and kind != COCO:
        return 0.0
    product, empty, order = 1.0, 0, 0
    for k in range(matched.size):
        total = max(0, length - k)
        if effective and is_left_out(total, k + 1, kind):
            break
        product *= precision(matched[k], total, k + 1, kind, value, empty)
        empty += matched[k] == 0
        order += 1
    if product == 0.0 or order == 0:
        return 0.0
    # two square roots are several times faster than a power, and BLEU-4 is the usual case
    score = math.sqrt(math.sqrt(product)) if order == 4 else product ** (1.0 / order)
    return score * brevity_penalty(length, reference, kind) if brevity else score


@kernel
def fetch(grams: Array, starts: Array, n: int, places: Array) -> int:
    """Touch the n-grams of some sentences, so that they are cached when they are compared.

    Pairs refer to sentences all over memory, and waiting for it takes longer than comparing.
    Nothing here depends on the values read, so the reads overlap. The result must be stored, or the
    compiler drops the reads.
    """
    touched = 0
    for place in places:
        for at in range(n * starts[place], n * starts[place + 1], LINE):
            touched ^= grams[at]
    return touched


@kernel
def score_pairs(
    grams: Array, starts: Array, n: int, rules: Any, candidates: Array, references: Array,
    scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """BLEU-n of pairs of sentences."""
    matched, touched = np.empty(n, np.int64), np.zeros(2, np.int64)
    for p in range(begin, end):
        if (p - begin) % AHEAD == 0:
            touched[0] = fetch(grams, starts, n, candidates[p : min(end, p + AHEAD)])
            touched[1] = fetch(grams, starts, n, references[p : min(end, p + AHEAD)])
        a, b = candidates[p], references[p]
        length, other = starts[a + 1] - starts[a], starts[b + 1] - starts[b]
        matched[:] = 0
        for k in range(min(n, length, other)):
            i, j = n * starts[a] + k * length, n * starts[b] + k * other
            matched[k] = shared(grams, i, i + length - k, j, j + other - k)
            if matched[k] == 0:  # then longer n-grams cannot match either
                break
        scores[p] = pair_score(matched, length, other, rules)


@kernel
def fill(table: Array, counts: Array, grams: Array, first: int, last: int) -> None:
    """Put n-grams with their counts into an empty open-addressing table."""
    mask = table.size - 1
    for i in range(first, last):
        at = (grams[i] * 40503) & mask
        while table[at] >= 0 and table[at] != grams[i]:
            at = (at + 1) & mask
        table[at] = grams[i]
        counts[at] += 1


@kernel
def matches(table: Array, counts: Array, grams: Array, first: int, last: int) -> int:
    """How many members of a sorted list are in the table, each up to its count there."""
    mask = table.size - 1
    members, run, before = 0, 0, np.int32(-1)
    for i in range(first, last):
        one = grams[i]
        run = run + 1 if one == before else 1
        before = one
        at = (one * 40503) & mask
        while table[at] >= 0:
            if table[at] == one:
                members += run <= counts[at]
                break
            at = (at + 1) & mask
    return members


@kernel
def score_against(
    grams: Array, starts: Array, n: int, rules: Any, references: Array, candidates: Array,
    scores: Array, begin: int, end: int,
) -> None:  # fmt: skip
    """BLEU-n of rows of candidates with one reference each, whose n-grams are looked up once."""
    longest = 1
    for q in range(begin, end):
        longest = max(longest, starts[references[q] + 1] - starts[references[q]])
    room = 16  # a power of two, at most a quarter full: most lookups are misses
    while room < 4 * n * longest:
        room *= 2
    table, counts = np.empty(room, np.int32), np.empty(room, np.int32)
    matched, touched = np.empty(n, np.int64), np.zeros(1, np.int64)
    for q in range(begin, end):
        b = references[q]
        other = starts[b + 1] - starts[b]
        table[:] = -1
        counts[:] = 0
        for k in range(min(n, other)):
            j = n * starts[b] + k * other
            fill(table, counts, grams, j, j + other - k)
        for c in range(candidates.shape[1]):
            if c % AHEAD == 0:
                touched[0] = fetch(grams, starts, n, candidates[q, c : c + AHEAD])
            a = candidates[q, c]
            length = starts[a + 1] - starts[a]
            matched[:] = 0
            for k in range(min(n, length, other)):
                i = n * starts[a] + k * length
                matched[k] = matches(table, counts, grams, i, i + length - k)
                if matched[k] == 0:
                    break
            scores[q, c] = pair_score(matched, length, other, rules)
