"""How probable foil captions are to a language model of the corpus's own captions.

For where there is no captioner. Foils of one caption differ from it in a few words, so only the
windows around these are scored: the gain over the original, which orders them as their whole
probability does.
"""

from __future__ import annotations

import numpy as np

from tellapart.mine.foil.foils import Foils
from tellapart.mine.foil.words import WORD
from tellapart.text.inflect import article
from tellapart.text.language.trigrams import END, START, UNKNOWN, Floats, Trigrams
from tellapart.text.parsing.parsed import Ints

NAME = "trigram model of the corpus's captions (Witten-Bell)"
LEFT, RIGHT = 3, 2
"""Words around a mention whose probability, or whose neighbours' probability, can change."""
NOTHING = -1
BLOCK = 1 << 17


def language_scores(foils: Foils) -> Floats:
    """For each foil the logarithm of its probability, less that of the original."""
    model = Trigrams(foils.words.word, foils.words.starts)
    around = _Around(foils)
    original = around.originals(model)
    scores = np.empty(len(foils.rows))
    for begin in range(0, len(scores), BLOCK):
        rows = slice(begin, begin + BLOCK)
        mention = foils.rows.mention[rows]
        scores[rows] = around.foils(model, rows) - original[mention]
    return scores


class _Around:
    """The words around all mentions of some foils."""

    def __init__(self, foils: Foils) -> None:
        found, words = foils.found, foils.words
        self._all, self._words = foils, words
        starts, ends = words.starts[found.caption], words.starts[found.caption + 1]
        self._left = np.stack(
            [self._at(found.first - k, starts, ends) for k in range(LEFT, 0, -1)], axis=1
        )
        self._right = np.stack(
            [self._at(found.last + k, starts, ends) for k in range(1, RIGHT + 1)], axis=1
        )
        self._articles = {one: words.vocabulary.get(one, UNKNOWN) for one in ("a", "an")}

    def _at(self, rows: Ints, starts: Ints, ends: Ints) -> Ints:
        """The words at some rows; START before a caption, END behind it, then nothing."""
        word = self._words.word[np.clip(rows, 0, max(0, len(self._words.word) - 1))]
        word = np.where(rows < starts, START, word)
        return np.where(rows > ends, NOTHING, np.where(rows == ends, END, word)).astype(np.int64)

    def originals(self, model: Trigrams) -> Floats:
        """The windows of the captions as they are, for each mention."""
        found = self._all.found
        scores = np.zeros(len(found))
        width = found.last - found.first + 1
        for wide in np.unique(width).tolist():
            rows = np.flatnonzero(width == wide)
            middle = self._words.word[found.first[rows, None] + np.arange(wide)]
            scores[rows] = _scored(model, self._left[rows], middle, self._right[rows])
        return scores

    def foils(self, model: Trigrams, rows: slice) -> Floats:
        """The windows of some foils."""
        foils = self._all
        mention, name = foils.rows.mention[rows], foils.rows.foil[rows]
        several = foils.found.plural[mention]
        scores = np.zeros(len(mention))
        kinds = name * 2 + several
        for kind in np.unique(kinds).tolist():
            form = foils.forms.of(kind // 2, several=bool(kind % 2))
            ids = [
                self._words.vocabulary.get(match.group().lower(), UNKNOWN)
                for match in WORD.finditer(form)
            ]
            mine = np.flatnonzero(kinds == kind)
            middle = np.tile(np.array(ids, np.int64), (len(mine), 1))
            left = self._left[mention[mine]]
            if not foils.plain:
                before = np.isin(left[:, -1], list(self._articles.values()))
                left = left.copy()
                left[before, -1] = self._articles[article(form)]
            scores[mine] = _scored(model, left, middle, self._right[mention[mine]])
        return scores


def _scored(model: Trigrams, left: Ints, middle: Ints, right: Ints) -> Floats:
    """The sum of logarithms over all windows that end at the last word of `left` or later."""
    line = np.concatenate([left, middle.astype(np.int64), right], axis=1)
    windows = np.stack([line[:, k : k + 3] for k in range(line.shape[1] - 2)], axis=1)
    asked = windows[:, :, 2]
    counts = (asked != NOTHING) & (asked != START)
    scores = np.zeros(counts.shape)
    scores[counts] = model.log_probabilities(windows[counts])
    total: Floats = scores.sum(axis=1)
    return total
