"""The words of the world: categories, colours, sizes, backgrounds and relations."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.text.english import plural


@dataclass(frozen=True, slots=True)
class Category:
    """A category of things; with `supports`, other things can stand on top of it."""

    name: str
    supercategory: str
    synonyms: tuple[str, ...] = ()
    supports: bool = False


_BY_SUPERCATEGORY = {
    "animal": "dog cat bird horse sheep elephant cow giraffe",
    "vehicle": "car bus truck bicycle boat airplane",
    "food": "apple banana pizza cake carrot donut",
    "furniture": "chair couch bed table",
    "kitchen": "cup bottle bowl fork knife",
    "accessory": "umbrella backpack handbag tie suitcase",
    "sports": "ball kite skateboard racket surfboard",
    "electronic": "tv laptop phone keyboard remote",
    "appliance": "oven toaster refrigerator microwave",
    "indoor": "book clock vase toothbrush",
    "outdoor": "bench hydrant",
}
_SYNONYMS = {
    "bicycle": ("bike",),
    "airplane": ("plane",),
    "couch": ("sofa",),
    "cup": ("mug",),
    "handbag": ("purse",),
    "tv": ("television",),
    "refrigerator": ("fridge",),
    "phone": ("telephone",),
}
_SUPPORTS = frozenset(
    "table bed bus truck suitcase book refrigerator oven microwave toaster skateboard".split()
)

CATEGORIES: dict[str, Category] = {
    name: Category(name, group, _SYNONYMS.get(name, ()), name in _SUPPORTS)
    for group, names in _BY_SUPERCATEGORY.items()
    for name in names.split()
}

COLOURS: dict[str, tuple[str, str, str]] = {
    "red": ("#d93a35", "#9e2321", "#f0928c"),
    "orange": ("#f08a24", "#b85f0e", "#f9c085"),
    "yellow": ("#f5cf32", "#c39a10", "#fbe892"),
    "green": ("#3fa650", "#276f35", "#92d19b"),
    "blue": ("#2f6fd8", "#1d4797", "#8fb4ef"),
    "purple": ("#8548b5", "#592d7e", "#bd97da"),
    "pink": ("#f285b5", "#c2568a", "#fac3db"),
    "brown": ("#8a5a33", "#5d3a1e", "#bb9170"),
    "grey": ("#8d9096", "#60636a", "#bcbec3"),
    "white": ("#f8f8f5", "#cdcdc6", "#ffffff"),
}
"""Name -> (main, shade, tint), which replace a drawing's three sentinel colours."""

SIZES: dict[str, float] = {"small": 0.15, "medium": 0.24, "big": 0.37}
"""Name -> side of the square around one copy, as a share of the picture's side."""
SIZE_WORDS = {
    "small": ("small", "little", "tiny"),
    "medium": ("medium-sized",),
    "big": ("big", "large", "huge"),
}

COUNTS: dict[int, tuple[str, ...]] = {
    1: ("a",),
    2: ("two", "a pair of"),
    3: ("three",),
    4: ("four",),
}

BACKGROUNDS: dict[str, tuple[str, ...]] = {
    "meadow": ("in a meadow", "on the grass"),
    "beach": ("on a beach", "at the beach"),
    "street": ("on a street", "in the street"),
    "room": ("in a room", "indoors"),
    "snow": ("in the snow", "on snowy ground"),
    "desert": ("in a desert", "in the desert"),
    "night": ("at night", "in the dark"),
}

RELATIONS: dict[str, tuple[str, ...]] = {
    "left": ("to the left of", "left of", "on the left side of"),
    "right": ("to the right of", "right of", "on the right side of"),
    "above": ("above",),
    "below": ("below",),
    "on": ("on", "on top of"),
    "under": ("underneath",),
    "next": ("next to", "beside"),
    "far": ("far from", "far away from"),
    "front": ("in front of",),
    "behind": ("behind",),
}
OPPOSITE = {
    "left": "right", "right": "left", "above": "below", "below": "above", "on": "under",
    "under": "on", "front": "behind", "behind": "front", "next": "far", "far": "next",
}  # fmt: skip
SYMMETRIC = frozenset({"next", "far"})


def noun(category: str, count: int, variant: int = 0) -> str:
    """The noun for a number of things of a category; `variant` picks a synonym if there is one.

    >>> noun("bus", 2), noun("couch", 1, 1)
    ('buses', 'sofa')
    """
    known = CATEGORIES.get(category)
    names = (category, *known.synonyms) if known else (category,)
    word = names[variant % len(names)]
    return word if count == 1 else plural(word)
