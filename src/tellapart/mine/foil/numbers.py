"""Singular or plural, where the word itself does not tell (sheep, skis)."""

from __future__ import annotations

import numpy as np

from tellapart.mine.categories import Categories
from tellapart.mine.foil.mentions import Flags, Mentions
from tellapart.mine.foil.words import Words

ONE = frozenset("a an one another each every this that single lone".split())
VERBS = frozenset("is was has 's".split())
REACH = 3
"""How many words before it may stand between a word and its article."""


def told_number(found: Mentions, words: Words, table: Categories) -> Flags:
    """The mentions' plural, settled for invariable words by what stands around them.

    One sheep is `a`, `that` or `one`, or `is`; all others are several.
    """
    several = found.plural.copy()
    invariable = np.array([name.invariable for name in table.names])
    ones = {words.vocabulary.get(word, -1) for word in ONE}
    singular_verbs = {words.vocabulary.get(word, -1) for word in VERBS}
    for row in np.flatnonzero(invariable[found.name]).tolist():
        start, end = (int(words.starts[found.caption[row] + k]) for k in (0, 1))
        first, last = int(found.first[row]), int(found.last[row])
        ahead = words.word[max(start, first - REACH) : first].tolist()
        behind = words.word[last + 1 : min(end, last + 2)].tolist()
        counted = [word for word in ahead if word in ones]
        several[row] = not (counted or (behind and behind[0] in singular_verbs))
    return several
