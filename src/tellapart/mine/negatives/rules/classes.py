"""Sorts of attributes: which words exclude one another, and which mean nearly the same.

Whether a word goes before a given noun is learnt from the corpus (`lists.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, permutations, product

CLOSE_COLOURS = {
    "red": "orange pink brown purple maroon",
    "orange": "red yellow brown gold golden tan",
    "yellow": "orange white green brown gold golden tan beige",
    "green": "blue yellow gray grey teal",
    "blue": "green purple gray grey black teal",
    "purple": "blue pink red maroon violet",
    "pink": "red purple white orange tan",
    "brown": "red orange black tan yellow gray grey gold golden beige maroon",
    "black": "gray grey brown blue dark",
    "white": "gray grey yellow tan pink silver beige cream light",
    "gray": "white black silver blue brown green tan grey beige",
    "tan": "brown white yellow gray grey orange beige gold golden pink",
    "silver": "gray grey white",
    "gold": "yellow orange brown golden tan",
    "maroon": "red brown purple",
}
"""Colours that one person calls so and the next calls otherwise."""
SPELLINGS = {"grey": "gray", "golden": "gold", "beige": "tan"}
NEW_COLOURS = (
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray",
)  # fmt: skip
"""Colours that everybody has a word for; only these replace another."""

SORTS: dict[str, tuple[tuple[str, ...], ...]] = {
    "size": (
        ("small", "large"),
        ("small little", "big"),
        ("tiny", "huge giant"),
        ("short", "tall"),
        ("short", "long"),
        ("narrow", "wide"),
    ),
    "age": (("young", "old older elderly"), ("old vintage antique rusty", "new modern")),
    "filling": (("empty deserted quiet", "crowded busy"),),
    "state": (
        ("open", "closed"),
        ("wet", "dry"),
        ("clean neat tidy", "dirty messy cluttered"),
        ("dark", "bright"),
        ("calm", "rough choppy"),
        ("raw", "cooked"),
        ("lit", "unlit"),
        ("flat", "steep"),
    ),
    "weather": (("cloudy overcast", "clear sunny"), ("sunny", "rainy", "snowy")),
    "gender": (("male", "female"),),
    "place": (("indoor", "outdoor"), ("urban", "rural")),
    "material": (
        ("wooden wood", "metal steel", "plastic", "glass", "brick", "leather", "paper", "stone"),
    ),
    "land": (("grassy", "snowy", "sandy", "rocky", "paved", "muddy"),),
    "pattern": (("striped", "plaid", "checkered", "floral"),),
    "shape": (("round circular", "square", "rectangular", "triangular"),),
}
"""Words of a sort in groups that exclude one another; words in one string mean the same."""

COUNTS = ("two", "three", "four", "five", "six")
"""Counts that people get right."""


def _contraries() -> Iterator[tuple[str, str, str, str]]:
    """(sort, word, a word that excludes it, what means nearly the same as that word)."""
    for sort, rows in SORTS.items():
        for here, there in chain.from_iterable(permutations(groups, 2) for groups in rows):
            for word, other in product(here.split(), there.split()):
                yield sort, word, other, there
    for word in (*CLOSE_COLOURS, *SPELLINGS):
        close = _close(SPELLINGS.get(word, word))
        for other in NEW_COLOURS:
            if other not in close:
                yield "colour", word, other, " ".join(sorted(_close(other)))


def _close(colour: str) -> set[str]:
    """A colour and those that the table has it close to, whichever it is said of."""
    named = {word for word, close in CLOSE_COLOURS.items() if colour in close.split()}
    return named | {colour, *CLOSE_COLOURS[colour].split()}


SORT: dict[str, str] = {}
"""The sort of an attribute."""
CONTRARIES: dict[str, dict[str, frozenset[str]]] = {}
"""For an attribute those that exclude it, each with the words that mean nearly the same as it."""
for _sort, _word, _other, _same in _contraries():
    SORT.setdefault(_word, _sort)
    CONTRARIES.setdefault(_word, {})[_other] = frozenset(_same.split()) | {_other}
