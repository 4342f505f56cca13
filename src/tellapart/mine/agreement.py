"""Whether captions of an image agree: what one person alone says may not be so.

FOIL's rule of salience (Shekhar et al. 2017, section 3) asks that several captions have the word
that is replaced. A caption is also false if something else in it is: a boy whom all others call a
girl, three dogs of which others see four, a white bus that is yellow. So a caption is used only if
another one of its image says the same number, gender and colours, and none contradicts it more
often than it is borne out. Nothing is known of an image's only caption, so it is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tellapart.errors import need
from tellapart.mine.negatives.actions import FORMS, POSTURES
from tellapart.mine.negatives.checks import is_fluent
from tellapart.mine.negatives.colours import CLOSE_COLOURS, SPELLINGS
from tellapart.mine.negatives.phrases import FEMALE, MALE
from tellapart.text.tokens import FUNCTION_WORDS, tokens

DISAGREEMENTS = ("not fluent", "number", "gender", "colour", "posture", "unknown word")
"""Why a caption is not used, in the order in which it is checked."""
SPELT = "two three four five six seven eight nine ten".split()
NUMBERS = {word: word for word in SPELT} | {str(k): word for k, word in enumerate(SPELT, 2)}
PRONOUNS = frozenset("he his him himself she her hers herself".split())
MEN = (MALE - PRONOUNS) | {"men", "boys", "guys", "gentlemen"}
WOMEN = (FEMALE - PRONOUNS) | {"women", "girls", "ladies"}
COLOURS = frozenset((*CLOSE_COLOURS, *SPELLINGS))
BASES = {
    form: frozenset(base for base in POSTURES if form in FORMS[base])
    for base in POSTURES
    for form in FORMS[base]
}
"""The postures that a verb may mean: who sleeps also lies."""
COMMON = frozenset(
    """during atop among amongst amid amidst beneath because someones accessories asian french
    american chinese japanese english italian german indian british african european mexican london
    york christmas halloween frisbee frisbees teddy wii nintendo tv ipod iphone cellphone cellphones
    smartphone remotes cd dvd pc suv rv skateboarder skateboarders snowboarder snowboarders
    skatepark decker trunk trunks fridge reflection hotdog hotdogs sunglasses closeup wetsuit
    wetsuits veggie veggies pepperoni burger burgers selfie shirtless seagull seagulls unmade
    jetliner metallic cafe roman countertop countertops santa themed windowsill boogie cop cops
    skillet smiley para bookcase signage styrofoam cabinetry nightstand hoodie firetruck texting
    outfield boardwalk streetlight archway cityscape bandana turquoise clocktower ottoman olympic
    bbq lego trashcan tattoo tattoos florets siamese beanie storefront tabletop paneled backseat
    fedora scenery waterfront""".split()
)
"""Words that the dictionary lacks though they are spelt rightly."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a caption says of how many, who, which colour and which posture, and its other words.

    `strange` are words that no dictionary has: most are misspelt.
    """

    numbers: frozenset[str]
    genders: frozenset[str]
    colours: frozenset[str]
    postures: frozenset[frozenset[str]]
    strange: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Claims:
        """What a text claims."""
        words = frozenset(tokens(text))
        genders = {
            name for name, own in (("male", MEN), ("female", WOMEN)) if not own.isdisjoint(words)
        }
        return cls(
            frozenset(NUMBERS[word] for word in words & NUMBERS.keys()),
            frozenset(genders),
            frozenset(SPELLINGS.get(word, word) for word in words & COLOURS),
            frozenset(BASES[word] for word in words & BASES.keys()),
            frozenset(word for word in words if not _is_known(word)),
            words,
        )

    def disagreement(self, others: Sequence[Claims]) -> str:
        """Why the image's other captions cast doubt on this one; empty if they do not."""
        doubts = {
            "number": any(_is_other_number(one, others) for one in self.numbers),
            "gender": any(_is_other_gender(one, self, others) for one in self.genders),
            "colour": any(
                all(one not in other.colours for other in others) for one in self.colours
            ),
            "posture": any(_is_other_posture(bases, others) for bases in self.postures),
            "unknown word": any(
                all(one not in other.words for other in others) for one in self.strange
            ),
        }
        return next((name for name, doubted in doubts.items() if doubted), "")


def disagreements(texts: Sequence[str]) -> list[str]:
    """For each caption of one image why it is not used, one of `DISAGREEMENTS`, or nothing.

    >>> disagreements(["Two dogs run.", "Two brown dogs.", "A man and two dogs on the grass."])
    ['', 'colour', 'gender']
    >>> disagreements(["A brown dog."])
    ['']
    """
    claims = [Claims.of(text) for text in texts]
    found: list[str] = []
    for place, (text, own) in enumerate(zip(texts, claims, strict=True)):
        others = [*claims[:place], *claims[place + 1 :]]
        told = own.disagreement(others) if others else ""
        found.append(told if is_fluent(text) else "not fluent")
    return found


def _is_other_number(number: str, others: Sequence[Claims]) -> bool:
    """Whether no other caption says so many, or one says only another number."""
    said = [other.numbers for other in others if other.numbers]
    return not said or any(number not in numbers for numbers in said)


def _is_other_gender(gender: str, own: Claims, others: Sequence[Claims]) -> bool:
    """Whether no other caption says so, or more of them say only the contrary."""
    said = sum(gender in other.genders for other in others)
    contrary = sum(bool(other.genders) and gender not in other.genders for other in others)
    return not said or (own.genders == {gender} and contrary > said)


def _is_other_posture(bases: frozenset[str], others: Sequence[Claims]) -> bool:
    """Whether no other caption says so, and one says what it excludes."""
    said = [posture for other in others for posture in other.postures]
    if any(bases & posture for posture in said):
        return False
    excluded = {other for base in bases for other in POSTURES[base].split()}
    return any(posture & excluded for posture in said)


@cache
def _is_known(word: str) -> bool:
    if not word.isalpha() or word in FUNCTION_WORDS | COMMON:
        return True
    lemmas: dict[str, tuple[str, ...]] = need(
        "lemminflect", "text", "telling words from misspelt ones"
    ).getAllLemmas(word)
    return bool(lemmas)
