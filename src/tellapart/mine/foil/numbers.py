"""Singular or plural, where the word itself does not tell (sheep, skis)."""

from __future__ import annotations

import numpy as np

from tellapart.mine.categories import Categories
from tellapart.mine.foil.judging import COLOURS
from tellapart.mine.foil.mentions import Flags, Mentions
from tellapart.mine.foil.words import Words

ONE = frozenset("a an one another each every this that single lone".split())
BETWEEN = COLOURS | frozenset(
    """big small large little tiny huge young old baby adult mother fluffy woolly wooly shaggy
    medium-sized""".split()
)
"""Words that may stand between an article and its noun."""
SINGULAR_VERBS = frozenset("is was has".split())


def told_number(found: Mentions, words: Words, table: Categories) -> Flags:
    """The mentions' plural, settled for invariable words by what stands around them.

    One sheep is `a` or `that` or `one` sheep, or it `is`; all others are several.
    """
    several = found.plural.copy()
    invariable = np.array([name.invariable for name in table.names])
    spelled = list(words.vocabulary)
    for row in np.flatnonzero(invariable[found.name]).tolist():
        start, end = (int(words.starts[found.caption[row] + k]) for k in (0, 1))
        first, last = int(found.first[row]), int(found.last[row])
        ahead = [spelled[k] for k in words.word[start:first].tolist()]
        behind = [spelled[k] for k in words.word[last + 1 : min(end, last + 2)].tolist()]
        while ahead and ahead[-1] in BETWEEN:
            ahead.pop()
        several[row] = not (ahead and ahead[-1] in ONE) and not (
            behind and behind[0] in SINGULAR_VERBS
        )
    return several
