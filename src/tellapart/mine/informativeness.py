"""How informative words are, from a corpus: would an image's captions have mentioned them?

Only a person who looks can be sure that a caption is false of an image. Short of that, the image's
own captions are evidence: if it were true, they would probably have its words. The strength of that
evidence can be measured in any corpus, in any language, from pairs of captions of one image: if one
has a word, how often does the other have it? People who describe one picture agree on "giraffe" and
rarely on "beautiful".

Two measures use the same counts (`TermMentions`). `Informativeness` (BISON) is how much likelier a
caption's words are for one image than for another. `Silence` (MCIC) is the probability that all
captions of an image leave out a word that is true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from tellapart.mine.captions import MinedCaptions, SortedLists
from tellapart.text._numba import kernel
from tellapart.text.english import IRREGULAR, plural
from tellapart.text.tokens import FUNCTION_WORDS
from tellapart.types import Floats, Ints32

WEIGHT = 4.0
"""The corpus's rate of a word has the weight of this many captions of the image."""
SEEN = 5.0
"""Rates are shrunk towards the mean with the weight of this many captions."""
NO_RATE = 0.4
"""The mean rate if no image has two captions (it is 0.34 in COCO)."""
FLOOR = 0.01
SHRINK = 10
"""Pseudo-pairs of captions that disagree on each word, since rare words prove nothing."""
LARGE = 500
"""Above this many pairs of images, compiling pays off."""
NUMBERS = frozenset("two three four five six seven eight nine ten".split())
_SINGULAR = {many: one for one, many in IRREGULAR.items()}


@dataclass(frozen=True, eq=False)
class TermMentions:
    """Which terms captions and images mention; a term is the form in which words are compared.

    `number` is the number of terms. `of_captions` has the terms of each caption, `of_images` those
    of each image with the number of captions that have them.
    """

    captions: MinedCaptions
    number: int
    of_captions: SortedLists
    of_images: SortedLists

    @classmethod
    def of(cls, captions: MinedCaptions, terms: Mapping[str, int]) -> TermMentions:
        """Read the captions of a corpus, or some of them with the terms of all.

        `terms[word]` is the number of a word's term; words without one are left out.
        """
        numbers = [[terms[word] for word in words if word in terms] for words in captions.words]
        flat = np.array([number for row in numbers for number in row], np.int32)
        rows = np.repeat(np.arange(len(captions)), [len(row) for row in numbers])
        of_captions = SortedLists.of(rows, flat, len(captions))
        images = captions.image_of[of_captions.lists]
        of_images = SortedLists.of(images, of_captions.values, len(captions.images))
        return cls(captions, max(1, len(set(terms.values()))), of_captions, of_images)

    @cached_property
    def pairs(self) -> Floats:
        """For each term, the ordered pairs of captions of one image whose first has it."""
        others = self.captions.per_image[self.of_images.lists] - 1
        return self._sums(self.of_images.times * others)

    @cached_property
    def agreeing_pairs(self) -> Floats:
        """For each term, the ordered pairs of captions of one image that both have it."""
        return self._sums(self.of_images.times * (self.of_images.times - 1))

    @cached_property
    def rates(self) -> Floats:
        """For each term, the share of an image's other captions that have it, given one has."""
        total = self.pairs.sum()
        mean = self.agreeing_pairs.sum() / total if total else NO_RATE
        return np.asarray((self.agreeing_pairs + SEEN * mean) / (self.pairs + SEEN))

    @cached_property
    def agreement(self) -> Floats:
        """For each term, Cohen's kappa of two captions of one image, 0 to 1.

        It is agreement beyond chance, so that words in most captions do not count.
        """
        frequency = self._sums(self.of_images.times) / self.captions.per_image.sum()
        expected = frequency * self.pairs
        beyond = (self.agreeing_pairs - expected) / np.maximum(1 - frequency, 1e-9)
        agreement: Floats = np.clip(beyond / (self.pairs + SHRINK), 0.0, 1.0)
        return agreement

    @cached_property
    def beside(self) -> csr_matrix:
        """Terms v x terms w: the share of other captions that have w, given one has v."""
        images, captions = (self._matrix(lists) for lists in (self.of_images, self.of_captions))
        together = images.T @ images - captions.T @ captions
        shares = csr_matrix(together.multiply((1 / (self.pairs + SEEN))[:, None]))
        shares.eliminate_zeros()
        shares.sort_indices()
        return shares

    def _sums(self, weights: Ints32) -> Floats:
        """For each term, the sum of weights of the images that mention it."""
        return np.bincount(self.of_images.values, weights, self.number).astype(np.float64)

    def _matrix(self, lists: SortedLists) -> csr_matrix:
        shape = (len(lists.starts) - 1, self.number)
        times = lists.times if lists is self.of_images else np.ones(len(lists.values))
        return csr_matrix((times.astype(np.float64), lists.values, lists.starts), shape=shape)


def content_terms(captions: MinedCaptions) -> dict[str, int]:
    """The content words of captions as terms; plural and singular are the same term."""
    words = dict.fromkeys(word for words in captions.words for word in words)
    content = [word for word in words if word not in FUNCTION_WORDS]
    single = {plural(word): word for word in sorted(content)}
    numbers: dict[str, int] = {}
    return {w: numbers.setdefault(single.get(w, w), len(numbers)) for w in content}


@dataclass(frozen=True, eq=False)
class Informativeness:
    """How well captions of an image, the target, distinguish it from another, the decoy.

    A caption's score is the sum over its content words w of max(0, log(q / p)):

        q = (n_w + 4 rate_w) / (n + 4) + 0.01    n other captions of the target, n_w with w
        p = (m_w + 4 beside_w) / (m + 4) + 0.01  m captions of the decoy, m_w with w

    `rate_w` is the share of an image's other captions that have w, given one has it ("giraffe"
    0.96, "beautiful" 0.00 in COCO). `beside_w` is the maximum, over the words v of the decoy's
    captions, of the share that have w, given one has v ("couch" beside "sofa" 0.48, "cat" beside
    "dog" 0.03). So neither an incidental word nor a synonym counts for much, and a word that
    everyone uses counts for a lot.
    """

    captions: MinedCaptions

    def scores(self, targets: Ints32, decoys: Ints32) -> tuple[Ints32, Floats]:
        """For pairs of images, the scores of all captions of the target.

        Returns [pairs, most captions] positions of captions (-1 if there are fewer) and scores.
        """
        places = self._captions_of[targets]
        scores = np.zeros(places.shape)
        mentions, beside = self._mentions, self._mentions.beside
        captions, images = mentions.of_captions, mentions.of_images
        arrays = (
            (captions.starts, captions.values),
            (images.starts, images.values, images.times),
            (beside.indptr, beside.indices, beside.data),
            mentions.rates,
            self.captions.per_image,
        )
        add = _add_gains_compiled if len(targets) > LARGE else _add_gains
        add(targets, decoys, places, arrays, scores)
        return places, np.round(scores, 9)

    @cached_property
    def _mentions(self) -> TermMentions:
        return TermMentions.of(self.captions, content_terms(self.captions))

    @cached_property
    def _captions_of(self) -> Ints32:
        """For each image, the positions of its captions, -1 after the last."""
        places = self.captions.of_images
        table = np.full((len(places), int(self.captions.per_image.max(initial=0))), -1, np.int32)
        for row, own in enumerate(places):
            table[row, : len(own)] = own
        return table


def _add_gains(targets: Any, decoys: Any, places: Any, arrays: Any, scores: Any) -> None:
    # Loops and numbers only, since numba compiles it. A term's gain does not depend on the caption,
    # so it is computed once for each pair of images; `gains` needs no clearing between pairs, since
    # the gains of all terms in the target's captions have just been set.
    (starts, terms), (ends, mentioned, times), (firsts, beside, shares), rates, sizes = arrays
    gains = np.zeros(len(rates))
    for pair in range(len(targets)):
        target, decoy = targets[pair], decoys[pair]
        theirs = mentioned[ends[decoy] : ends[decoy + 1]]
        for k in range(ends[target], ends[target + 1]):
            term = mentioned[k]
            of_decoy, share = 0.0, 0.0
            for at in range(len(theirs)):
                other = theirs[at]
                if other == term:
                    of_decoy = float(times[ends[decoy] + at])
                row = beside[firsts[other] : firsts[other + 1]]
                place = np.searchsorted(row, term)
                if place < len(row) and row[place] == term:
                    share = max(share, shares[firsts[other] + place])
            q = (times[k] - 1 + WEIGHT * rates[term]) / (sizes[target] - 1 + WEIGHT)
            p = (of_decoy + WEIGHT * share) / (sizes[decoy] + WEIGHT)
            gains[term] = max(0.0, np.log((q + FLOOR) / (p + FLOOR)))
        for column in range(places.shape[1]):
            caption = places[pair, column]
            if caption >= 0:
                for k in range(starts[caption], starts[caption + 1]):
                    scores[pair, column] += gains[terms[k]]


_add_gains_compiled = kernel(_add_gains)


@dataclass(frozen=True, slots=True, eq=False)
class StemAgreement:
    """How much people agree on each stem of a corpus: `terms[word]` is a word's stem."""

    terms: Mapping[str, int]
    agreement: Floats

    @classmethod
    def of(cls, captions: MinedCaptions) -> StemAgreement:
        """The agreement on all words of a corpus.

        If no image has two captions, agreement is unknown and set to 1 for content words.
        """
        stems: dict[str, int] = {}
        terms = {
            word: stems.setdefault(stem(word), len(stems))
            for word in dict.fromkeys(word for words in captions.words for word in words)
        }
        if captions.per_image.max(initial=0) < 2:
            content = [float(one not in FUNCTION_WORDS or one in NUMBERS) for one in stems]
            return cls(terms, np.array(content))
        return cls(terms, TermMentions.of(captions, terms).agreement)


@dataclass(frozen=True, slots=True, eq=False)
class Silence:
    """The probability that the captions of an image leave out what is true of it.

    People agree on "pizza" (0.9 on COCO) and rarely on "large" (0.1). If the agreement on a word is
    a, all of k captions leave it out although it is true with probability (1 - a)^k. The doubt of a
    caption is that of its most informative word that is missing from the image's captions.
    """

    mentions: TermMentions
    agreement: Floats

    @classmethod
    def of(cls, captions: MinedCaptions, stems: StemAgreement) -> Silence:
        """From some captions of the corpus in which agreement was counted."""
        return cls(TermMentions.of(captions, stems.terms), stems.agreement)

    def with_likely(self, share: float) -> Silence:
        """The same, with words that are implied by the words of the captions.

        A word is likely for an image if, in the corpus, at least this share of captions have it
        beside another caption with one of the image's words: given "tennis player", "a man" must
        not count as false. Likely words are in the lists of images with 0 captions.
        """
        mentions, lists = self.mentions, self.mentions.of_images
        likely = mentions.beside.copy()
        likely.data = (likely.data >= share).astype(np.float64)
        likely.eliminate_zeros()
        shape = (len(lists.starts) - 1, mentions.number)
        said = csr_matrix((np.ones(len(lists.values)), lists.values, lists.starts), shape=shape)
        both = csr_matrix(said + said @ likely)
        both.sort_indices()
        rows = np.repeat(np.arange(shape[0]), np.diff(both.indptr))
        base = mentions.number
        known, asked = lists.lists * base + lists.values, rows * base + both.indices
        place = np.minimum(np.searchsorted(known, asked), max(0, len(known) - 1))
        times = np.where(known[place] == asked, lists.times[place], 0).astype(np.int32)
        starts, values = both.indptr.astype(np.int64), both.indices.astype(np.int32)
        more = replace(mentions, of_images=SortedLists(starts, values, times))
        return Silence(more, self.agreement)

    def true_captions_let_through(self, doubt: float) -> float:
        """The share of captions that would pass as false of their own image.

        Each is compared with the image's other captions: this is the error of a guard with
        threshold `doubt` where the truth is known. 0 if no image has two captions.
        """
        captions, images = self.mentions.of_captions, self.mentions.of_images
        image = self.mentions.captions.image_of[captions.lists]
        base = len(self.agreement)
        keys = images.lists * base + images.values
        alone = images.times[np.searchsorted(keys, image * base + captions.values)] == 1
        most = np.zeros(len(self.mentions.captions))
        np.maximum.at(most, captions.lists, self.agreement[captions.values] * alone)
        per_image = self.mentions.captions.per_image
        others = per_image[self.mentions.captions.image_of] - 1
        passes = (1 - most[others > 0]) ** others[others > 0] <= doubt
        return float(passes.mean()) if len(passes) else 0.0


def stem(word: str) -> str:
    """A word without the usual endings of English nouns and verbs: crude but consistent.

    >>> [stem(word) for word in "rides riding ride sitting sits horses women buses".split()]
    ['rid', 'rid', 'rid', 'sit', 'sit', 'hors', 'woman', 'bus']
    """
    word = _SINGULAR.get(word, word)
    if len(word) > 3 and not word.endswith("ss"):
        word = re.sub(r"ies$", "y", word) if word.endswith("ies") else re.sub(r"e?s$", "", word)
    word = re.sub(r"(?<=[a-z]{3})(ing|ed|e)$", "", word)
    return re.sub(r"([b-df-hj-np-tv-z])\1$", r"\1", word)
