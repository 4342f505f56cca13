"""What keeps a decoy from being true of the image, and an item from asking something twice.

The paper takes whatever Score puts first. Some of its decoys are true (the first released row has
"sitting on a bench outside" against "sitting outside on a bench"), and 122 of its 9,999
development rows have a decoy twice. Each guard can be left out, which gives the paper's own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tellapart.errors import UnknownName
from tellapart.mine.mcic.captions import Captions, Lists
from tellapart.text.inflect import IRREGULAR
from tellapart.text.words import FUNCTION_WORDS

NUMBERS = "two three four five six seven eight nine ten".split()
VAGUE = frozenset(
    """someone somebody person people human individual group couple pair bunch lot set row number
    several many few various different assorted multiple numerous kind type sort
    something thing item object stuff piece part animal creature
    picture photo photograph image view shot scene display snapshot closeup close camera
    background foreground middle center centre corner edge end area place spot space way surface
    outdoors outdoor indoors indoor together alone apart
    large big small little tiny huge giant tall short long wide narrow full
    nice beautiful pretty cute lovely great good fancy interesting cool colorful
    old young adult new modern
    day time look see seen show shown get got go goes come take taken put make made use
    feature contain include appear seem try like ready about still already""".split()
)
"""Words that fit almost any picture, or on which people differ: they tell no image from another."""

_SINGULAR = {many: one for one, many in IRREGULAR.items()}
_SPELT_OUT = {str(number): word for number, word in enumerate(NUMBERS, 2)}


@dataclass(frozen=True, slots=True)
class Guards:
    """Which guards stand; the numbers are those of the page of pitfalls.

    `shuffle` (7): options in an order that the seed gives; else alphabetical, as released.
    `same_words` (8): no decoy has the bag of words of a caption of the image, letters only.
    `new_words` (8): a decoy has at least so many telling words that no caption of the image has.
    `distinct` (9): no two decoys of an item have the same bag of words, no item is there twice.
    `own_split` (14): decoys are captions of the item's own split. Captions that were true in
    training would otherwise be known for decoys.
    """

    shuffle: bool = True
    same_words: bool = True
    new_words: int = 1
    distinct: bool = True
    own_split: bool = True

    def without(self, names: Iterable[str]) -> Guards:
        """The guards but for those named (`same-words`, ...), none with `all`.

        >>> Guards().without(["new-words"]).new_words, Guards().without(["all"]).shuffle
        (0, False)
        """
        known = {name.replace("_", "-"): name for name in self.__dataclass_fields__}
        gone: list[str] = []
        for name in names:
            if name not in (*known, "all"):
                raise UnknownName("guard", name, [*known, "all"])
            gone += known.values() if name == "all" else [known[name]]
        return replace(self, **{name: type(getattr(self, name))() for name in gone})


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """What captions and images say: bags of words and telling words, by number.

    `bag_of` has a bag for each caption, `bags` those of all captions of each image; `telling` has
    lists of words for each caption, `known` the words of all captions of each image.
    """

    captions: Captions
    bags: Lists
    telling: Lists
    known: Lists

    @classmethod
    def of(cls, captions: Captions) -> Said:
        """Read all captions."""
        number: dict[str, int | None] = {}
        stems: dict[str, int] = {}
        for word in {word for words in captions.words for word in words}:
            told = telling_stem(word)
            number[word] = None if told is None else stems.setdefault(told, len(stems))
        telling = [
            [k for word in words if (k := number[word]) is not None] for words in captions.words
        ]
        bags: list[list[int]] = [[] for _ in captions.images]
        known: list[list[int]] = [[] for _ in captions.images]
        for place, image in enumerate(captions.image_of.tolist()):
            bags[image].append(int(captions.bags[place]))
            known[image] += telling[place]
        return cls(captions, Lists.of(bags), Lists.of(telling), Lists.of(known))


def telling_stem(word: str) -> str | None:
    """The stem of a word that tells one picture from another, None for other words.

    Telling are numbers from two and all words but function words and vague ones.

    >>> telling_stem("riding"), telling_stem("2"), telling_stem("the"), telling_stem("pictures")
    ('rid', 'two', None, None)
    """
    word = _SPELT_OUT.get(word, word)
    if word in NUMBERS:
        return word
    found = stem(word)
    return None if word in FUNCTION_WORDS or found in _VAGUE_STEMS else found


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


_VAGUE_STEMS = frozenset(map(stem, VAGUE))
