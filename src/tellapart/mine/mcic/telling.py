"""How telling a word is: would the captions of an image leave it out if it were true?

Whether a decoy is false of an image is known for sure only if somebody looks. Short of that, the
image's own captions are evidence: were the decoy true, they would have its words. How strong that
evidence is can be read off the corpus, in any language: people who describe one picture agree on
"pizza" (0.9 on COCO) and hardly on "large" (0.1). The agreement on a word is Cohen's kappa of two
captions of an image, so that words which are in most captions anyway do not count. If it is a, all
of k captions leave out a word that is true with probability (1 - a)^k.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tellapart.mine.captions import Captions, Ints, Lists
from tellapart.text.english import IRREGULAR
from tellapart.text.tokens import FUNCTION_WORDS

SHRINK = 10
"""Pairs of captions that are taken to disagree on each word: rare words prove nothing."""
Floats = npt.NDArray[np.float64]
NUMBERS = frozenset("two three four five six seven eight nine ten".split())
_SINGULAR = {many: one for one, many in IRREGULAR.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The stems of a corpus: `number[word]` is a word's stem, `agreement` has a value for each."""

    number: Mapping[str, int]
    agreement: Floats

    @classmethod
    def of(cls, captions: Captions) -> Vocabulary:
        """Of all words of a corpus.

        Where no image has two captions nothing is known of agreement: it is 1 for content words.
        """
        stems: dict[str, int] = {}
        number = {
            word: stems.setdefault(stem(word), len(stems))
            for word in dict.fromkeys(word for words in captions.words for word in words)
        }
        if captions.per_image.max(initial=0) < 2:
            content = [float(one not in FUNCTION_WORDS or one in NUMBERS) for one in stems]
            return cls(number, np.array(content))
        _, known = _stems(captions, number)
        return cls(number, agreement(known, captions.per_image, len(stems)))


def agreement(known: Lists, per_image: Ints, number: int) -> Floats:
    """For each stem how far two captions of one image agree on it beyond chance, 0 to 1."""
    having = known.times.astype(np.float64)
    others = per_image[known.lists] - 1
    frequency = np.bincount(known.values, having, number) / per_image.sum()
    pairs = np.bincount(known.values, having * others, number)
    both = np.bincount(known.values, having * (having - 1), number)
    beyond: Floats = (both - frequency * pairs) / np.maximum(1 - frequency, 1e-9)
    return np.clip(beyond / (pairs + SHRINK), 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What captions and images say, by number.

    `bags` are the bags of words of each image's captions, `words` the stems of each caption and
    `known` those of each image's captions.
    """

    captions: Captions
    vocabulary: Vocabulary
    bags: Lists
    words: Lists
    known: Lists

    @classmethod
    def of(cls, captions: Captions, vocabulary: Vocabulary) -> Said:
        """Read some captions of the corpus that the vocabulary is of."""
        bags = Lists.of(captions.image_of, captions.bags, len(captions.images))
        return cls(captions, vocabulary, bags, *_stems(captions, vocabulary.number))

    def true_ones_let_through(self, doubt: float) -> float:
        """The share of captions that would pass as decoys of their own image.

        Each is held against the image's other captions: what the guard gets wrong where the truth
        is known. 0 where no image has two captions.
        """
        image = self.captions.image_of[self.words.lists]
        base = len(self.vocabulary.agreement)
        keys = self.known.lists * base + self.known.values
        own = self.known.times[np.searchsorted(keys, image * base + self.words.values)] == 1
        most = np.zeros(len(self.captions))
        told = self.vocabulary.agreement[self.words.values] * own
        np.maximum.at(most, self.words.lists, told)
        others = self.captions.per_image[self.captions.image_of] - 1
        passes = (1 - most[others > 0]) ** others[others > 0] <= doubt
        return float(passes.mean()) if len(passes) else 0.0


def _stems(captions: Captions, number: Mapping[str, int]) -> tuple[Lists, Lists]:
    """The stems of each caption, and those of each image with how many captions have them."""
    flat = np.array([number[word] for words in captions.words for word in words], np.int32)
    rows = np.repeat(np.arange(len(captions)), [len(words) for words in captions.words])
    words = Lists.of(rows, flat, len(captions))
    images = captions.image_of[words.lists]
    return words, Lists.of(images, words.values, len(captions.images))


def stem(word: str) -> str:
    """A word without the usual endings of English nouns and verbs: crude, and the same for all.

    >>> [stem(word) for word in "rides riding ride sitting sits horses women buses".split()]
    ['rid', 'rid', 'rid', 'sit', 'sit', 'hors', 'woman', 'bus']
    """
    word = _SINGULAR.get(word, word)
    if len(word) > 3 and not word.endswith("ss"):
        word = re.sub(r"ies$", "y", word) if word.endswith("ies") else re.sub(r"e?s$", "", word)
    word = re.sub(r"(?<=[a-z]{3})(ing|ed|e)$", "", word)
    return re.sub(r"([b-df-hj-np-tv-z])\1$", r"\1", word)
