"""What a corpus tells of its nouns: how they are written, used, and what they speak of.

Several people describe each image. So a thing that most captions of its images name is not there
where no caption names it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tellapart.mine.negatives.phrases import kernel_of
from tellapart.mine.negatives.rules.counting import FORMS, Counts
from tellapart.mine.negatives.words import ING_NOUNS, NO_THINGS, PEOPLE

FEWEST = 15
"""Captions that a noun must be in to be put into another."""
SINGULAR = 0.01
"""Share of a noun's uses in the singular; what is never singular was misread (`zebra grazes`)."""
USED, BARE, MASS = 0.05, 0.25, 0.5
"""Share of a noun's uses in a form for it to look right there, bare, and for it to be a mass."""
IMPLIES, LIFT = 0.85, 3.0
"""Share of a noun's images that show an object for the noun to speak of it, and how much more."""
TELLING = 0.4
"""Mean share of captions that name a thing, over images where one does, for silence to tell."""
SAME_IMAGES, ONE_CAPTION = 0.1, 0.35
"""Share of the rarer noun's images with both nouns, and how many captions with both to an image."""
USUAL = 0.1
"""How often a noun must be used, as a part of the usual word for the same: not `lap top`."""


@dataclass(frozen=True)
class Nouns:
    """Nouns are in the singular, with their compounds."""

    counts: Counts

    @cached_property
    def known(self) -> frozenset[str]:
        """Nouns of things that are known well enough to be put into captions."""
        numbers, forms = self.counts.nouns, self.counts.forms
        known = [
            noun
            for noun, number in numbers.items()
            if number >= FEWEST
            and names_a_thing(noun)
            and forms[noun, "plural"] <= (1 - SINGULAR) * number
        ]
        # One written plural belongs to one noun: `kites` to kite, not to what it was misread as.
        owner: dict[str, str] = {}
        for noun in sorted(known, key=lambda noun: (-numbers[noun], noun)):
            owner.setdefault(self.written(noun, True), noun)
        return frozenset(owner.values())

    @cached_property
    def by_kernel(self) -> Mapping[str, str]:
        """The noun that is used most for each kernel."""
        found: dict[str, str] = {}
        for noun in sorted(self.known, key=lambda n: (-self.counts.nouns[n], n)):
            found.setdefault(kernel_of(noun), noun)
        return found

    @cached_property
    def _written(self) -> Mapping[tuple[str, bool], str]:
        best: dict[tuple[str, bool], tuple[int, str]] = {}
        for (noun, plural, text), number in sorted(self.counts.written.items()):
            if number > best.get((noun, plural), (1, ""))[0]:
                best[noun, plural] = (number, text)
        return {key: text for key, (_, text) in best.items()}

    def written(self, noun: str, plural: bool) -> str:
        """A noun as the corpus writes it most often."""
        return self._written.get((noun, plural), noun)

    def forms(self, noun: str) -> frozenset[str]:
        """The forms (`counting.form_of`) in which a noun is used often enough to look right."""
        number, forms = self.counts.nouns[noun], self.counts.forms
        return frozenset(
            form
            for form in FORMS
            if forms[noun, form] >= max(FEWEST // 3, (BARE if form == "bare" else USED) * number)
        )

    def is_mass(self, noun: str) -> bool:
        """Whether a noun mostly stands without an article and in the singular: rice, cheese."""
        return self.counts.forms[noun, "bare"] > MASS * self.counts.nouns[noun]

    @cached_property
    def denotes(self) -> Mapping[str, frozenset[str]]:
        """The objects that a noun speaks of, learnt from images that say what they show."""
        counts = self.counts
        found: dict[str, set[str]] = {noun: {noun} for noun in counts.objects}
        for (noun, name), number in counts.shown.items():
            images = counts.speaking[noun]
            usual = counts.objects[name] / counts.described
            if images >= FEWEST // 3 and number >= max(IMPLIES, LIFT * usual) * images:
                found.setdefault(noun, set()).add(name)
        return {noun: frozenset(names) for noun, names in found.items()}

    def telling(self, noun: str) -> float:
        """How many of the captions name a thing, where one of them does."""
        images = self.counts.images[noun]
        return self.counts.telling[noun] / 1000 / images if images else 0.0

    @cached_property
    def deniable(self) -> frozenset[str]:
        """Nouns of which an image's objects or its captions tell that they are not there."""
        denotes, numbers = self.denotes, self.counts.nouns
        usual: dict[frozenset[str], int] = {}
        for noun in self.known & denotes.keys():
            usual[denotes[noun]] = max(usual.get(denotes[noun], 0), numbers[noun])
        return frozenset(
            noun
            for noun in self.known
            if kernel_of(noun) not in PEOPLE
            and (
                numbers[noun] >= USUAL * usual[denotes[noun]]
                if noun in denotes
                else self.telling(noun) >= TELLING
            )
        )

    @cached_property
    def same_things(self) -> Mapping[str, frozenset[str]]:
        """For each noun those that people use for the same thing.

        They share images (one says couch, the next says sofa) but seldom a caption, where two
        things that are there together share captions as well.
        """
        found: dict[str, set[str]] = {}
        for (one, other), images in self.counts.together.items():
            if self.counts.beside[one, other] >= ONE_CAPTION * images:
                continue
            if one in self.known and self.share_images(one, other) >= SAME_IMAGES:
                found.setdefault(one, set()).add(other)
                found.setdefault(other, set()).add(one)
        return {noun: frozenset(others) for noun, others in found.items()}

    def share_images(self, one: str, other: str) -> float:
        """The share of the images of the rarer of two things that have captions with both."""
        rarer = min(self.counts.images[one], self.counts.images[other])
        key = (one, other) if one < other else (other, one)
        return self.counts.together[key] / rarer if rarer else 0.0


def names_a_thing(noun: str) -> bool:
    """Whether a noun names one sort of thing that can be seen."""
    kernel = kernel_of(noun)
    if kernel.endswith("ing") and kernel not in ING_NOUNS:
        return False
    return kernel not in NO_THINGS and noun not in NO_THINGS
