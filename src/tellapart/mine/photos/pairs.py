"""Pairs of pictures from one photograph with boxes: mirror, count, one-of-two, add-object.

- `mirror`: the whole picture against its mirror image, "A left of B" against "A right of B".
- `count`: "two dogs" against "one dog", with one of the two removed.
- `one-of-two`: without B against without A, with a caption of A against one of B.
- `add-object`: with the object against without it. A caption without it is true of both pictures,
  so three cells are true; the grid asks only questions that have a wrong answer.

In `count` and `add-object` the picture that keeps everything is painted over elsewhere.

Boxes that are removed are the only ones of their category (or one of two) and cover 1 to 15% of
the picture; grown by 2% they hide at most a tenth of any other named object, and no person fills
30% of the hole. People's captions are used if two or three of them name the thing; otherwise
captions are written from the boxes. The other rules came from looking at pictures.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

import numpy as np

from tellapart import seeds
from tellapart.corpus.corpus import Corpus
from tellapart.image_features.boxes import LabelledBox
from tellapart.items import Cell
from tellapart.makers.maker import FractionBox, PhotoEdit
from tellapart.makers.photo import FURTHER_GROWTH, GROWTH, whole_blocks
from tellapart.mine.photos.geometry import area, around, grown, overlap, side_by_side
from tellapart.mine.photos.names import ObjectName
from tellapart.mine.photos.patches import brightness_of, plainest_patch
from tellapart.text.english import alike, article, plural
from tellapart.types import Floats

PHOTO_KINDS = ("mirror", "count", "one-of-two", "add-object")
AREA = (0.01, 0.15)
MENTIONS = 2
HIDDEN, PERSON_IN_HOLE = 0.1, 0.3
SMALLEST = 0.005
"""The least area of a thing that is mentioned, as a share of the picture."""
EDGE, SLIVER, BODY = 0.01, 0.2, 0.6
"""What the left or right edge of the picture cuts must be this wide, and a person this high: an arm
is no person."""
SEATS, TAKEN = frozenset({"chair", "couch", "bench"}), 0.5
"""A seat is not seen if a person covers this share of it."""
TOGETHER = 6
"""The most things of one sort that are mentioned together ("the chairs")."""
WITHOUT_ARTICLE = ("skis", "scissors", "broccoli")
NEVER_ERASED = frozenset({"dining table", "bed", "sink"})
"""Boxes often cover only a part of a table or bed; of a sink, pipes and taps would remain."""
MISSPELT = 0.8
"""Words this similar (difflib's ratio) may be the same word, misspelt."""
TEXT = re.compile(
    r"\b(?:signs?|signage|text|letters?|lettering|words?|writing|written|logos?|reads?|says|"
    r"label\w*|street name|numbers?|advert\w*|billboard|poster|banner|graffiti|clock|newspaper|"
    r"magazine|menu|jerseys?|presentation|screen|speech|podium|store|shop|license)\b",
    re.IGNORECASE,
)
"""Captions of pictures with readable text, which would reveal mirroring."""
WITH_TEXT = frozenset({"stop sign", "book", "clock", "parking meter", "bus", "truck"})
READABLE = 0.02
"""Smaller things with text are unreadable at the size that models see."""
SUBJECT = 3
"""If more captions name a thing, it is the subject, and the other captions mean it, too."""
TRUE_OF_BOTH: frozenset[Cell] = frozenset({(0, 0), (0, 1), (1, 1)})
SQUARE: frozenset[Cell] = frozenset({(0, 0), (1, 1)})


@dataclass(frozen=True, slots=True)
class PhotoPair:
    """Two edits of one photograph, two captions, and which cells are true.

    `about` is what differs. `original` is the cell of the picture and the caption with everything;
    None if each lacks something.
    """

    kind: str
    image: str
    edits: tuple[PhotoEdit, PhotoEdit]
    captions: tuple[str, str]
    true: frozenset[Cell]
    about: tuple[str, ...]
    original: Cell | None = (0, 0)


def _even() -> Floats:
    """Brightness where no picture is looked at: the same everywhere."""
    return np.ones((32, 32, 2))


@dataclass(frozen=True)
class Photo:
    """A photograph with its captions and boxes, for the rules; `brightness` looks at it."""

    image: str
    captions: Sequence[str]
    boxes: Sequence[LabelledBox]
    names: Mapping[str, ObjectName]
    brightness: Callable[[], Floats] = _even

    def by_category(self) -> dict[str, list[FractionBox]]:
        """The boxes of each category that has a name."""
        found: dict[str, list[FractionBox]] = defaultdict(list)
        for category, box in self.boxes:
            if category in self.names:
                found[category].append(box)
        return dict(found)

    def mentions(self, category: str) -> int:
        """How many captions name a category."""
        return sum(bool(self.names[category].named.search(one)) for one in self.captions)

    def hinted(self, category: str) -> bool:
        """Whether any caption has a word that suggests it."""
        return any(self.names[category].hinted.search(one) for one in self.captions)

    def patch_for(self, box: FractionBox) -> FractionBox | None:
        """What to paint over so that a picture with the thing in the box has paint, too."""
        rest = [one for one in self.boxes if one[1] != box]
        named = [place for other, place in rest if other in self.names and self.hinted(other)]
        others = [one for one in rest if one[1] not in named]
        return plainest_patch(box, named, others, self.brightness())

    def said_in_plural(self, category: str) -> bool:
        """Whether a caption mentions several of a category that has one box."""
        return any(self.names[category].several.search(one) for one in self.captions)


@dataclass(frozen=True)
class PhotoPairs:
    """The pairs of a corpus, and the reasons why photographs gave none, counted by kind."""

    pairs: list[PhotoPair]
    refused: dict[str, Counter[str]] = field(default_factory=dict)


def photo_pairs(
    corpus: Corpus,
    boxes: Mapping[str, Sequence[LabelledBox]],
    names: Mapping[str, ObjectName],
    kinds: Sequence[str],
    seed: int,
) -> PhotoPairs:
    """All pairs of the given kinds, in the corpus's order."""
    makers = {"mirror": mirrored, "count": counted, "one-of-two": one_of_two, "add-object": added}
    found = PhotoPairs([], {kind: Counter() for kind in kinds})
    for image in corpus.images["id"].to_list():
        if image not in boxes or not corpus.picture(image).is_there():
            for kind in kinds:
                found.refused[kind]["no boxes, or no picture"] += 1
            continue
        captions = corpus.texts_by_image.get(image, [])
        photo = Photo(image, captions, boxes[image], names, partial(_brightness, corpus, image))
        for kind in kinds:
            why: set[str] = set()
            made = list(makers[kind](photo, seed, why))
            found.pairs.extend(made)
            if not made:
                found.refused[kind][" or ".join(sorted(why)) or "nothing fits"] += 1
    return found


def _brightness(corpus: Corpus, image: str) -> Floats:
    return brightness_of(whole_blocks(corpus.picture(image).open()))


def mirrored(photo: Photo, seed: int, why: set[str]) -> Iterator[PhotoPair]:
    """Pairs of things side by side, each the only one of its kind.

    A caption must name each of them, and two captions one of them (if there are two): what no
    caption names is often hardly visible, or labelled wrongly.
    """
    if any(TEXT.search(one) for one in photo.captions) or any(
        category in WITH_TEXT and area(box) >= READABLE for category, box in photo.boxes
    ):
        why.add("something can be read in it")
        return
    places = {c: around(b) for c, b in photo.by_category().items() if len(b) <= TOGETHER}
    many = {c for c, b in photo.by_category().items() if len(b) > 1}
    fit = [
        category
        for category, box in places.items()
        if area(box) >= SMALLEST
        and photo.said_in_plural(category) == (category in many)
        and photo.mentions(category)
        and visible(photo, category, box)
    ]
    for first, second in combinations(fit, 2):
        if not side_by_side(places[first], places[second]):
            why.add("no two things are side by side")
            continue
        named = max(photo.mentions(first), photo.mentions(second))
        if named < min(MENTIONS, len(photo.captions)):
            why.add("too few captions name either")
            continue
        pair = (first, second)
        if seeds.unit(seed, "mirror", photo.image, first, second) < 0.5:
            pair = (second, first)
        sides = ("left", "right") if places[pair[0]][0] < places[pair[1]][0] else ("right", "left")
        nouns = [
            plural(photo.names[one].noun) if one in many else photo.names[one].noun for one in pair
        ]
        verb = "are" if pair[0] in many or nouns[0] in WITHOUT_ARTICLE else "is"
        texts = [alike(f"The {nouns[0]} {verb} to the {side} of the {nouns[1]}.") for side in sides]
        edits = PhotoEdit(), PhotoEdit(mirror=True)
        yield PhotoPair("mirror", photo.image, edits, (texts[0], texts[1]), SQUARE, pair)


def counted(photo: Photo, seed: int, why: set[str]) -> Iterator[PhotoPair]:
    """Two of a kind, described as two, one of which can be removed."""
    for category, boxes in photo.by_category().items():
        name = photo.names[category]
        if name.noun in WITHOUT_ARTICLE:
            why.add("cannot be counted")
            continue
        if len(boxes) != 2 or not any(name.two.search(one) for one in photo.captions):
            why.add("not two of a sort that captions call two")
            continue
        able = [box for box in boxes if can_go(photo, category, box, why)]
        if not able:
            continue
        gone = min(able, key=lambda box: (_hides(box, photo, category), area(box)))
        captions = (
            f"There are two {plural(name.noun)} in the picture.",
            f"There is one {name.noun} in the picture.",
        )
        patch = photo.patch_for(gone)
        if patch is None:
            why.add("no plain place for a patch elsewhere")
            continue
        edits = PhotoEdit(erase=(patch,)), without(photo, gone)
        yield PhotoPair("count", photo.image, edits, captions, SQUARE, (category,))


def one_of_two(photo: Photo, seed: int, why: set[str]) -> Iterator[PhotoPair]:
    """Two things, each of which can be removed; each caption mentions only one of them."""
    fit = _erasable(photo, why, mentions=1)
    if len(fit) < 2:
        why.add("fewer than two things that can go")
    for place, (first, a) in enumerate(fit):
        for second, b in fit[place + 1 :]:
            if overlap(grown(a), b) > 0 or overlap(grown(b), a) > 0:
                why.add("the two touch")
                continue
            captions = _each_alone(photo, first, second, seed) or _written(photo, first, second)
            edits = without(photo, b), without(photo, a)
            about = (first, second)
            yield PhotoPair("one-of-two", photo.image, edits, captions, SQUARE, about, None)


def added(photo: Photo, seed: int, why: set[str]) -> Iterator[PhotoPair]:
    """A thing that can be removed, a caption that names it and one that does not suggest it."""
    for category, box in _erasable(photo, why, mentions=0):
        name = photo.names[category]
        lacking = [
            one
            for one in photo.captions
            if not name.hinted.search(one) and not _misspells(name.noun, one)
        ]
        having = [one for one in photo.captions if name.named.search(one)]
        written = not (lacking and MENTIONS <= photo.mentions(category) <= SUBJECT)
        if not written:
            drawn = [
                alike(texts[seeds.number(seed, "add", photo.image, category, k) % len(texts)])
                for k, texts in enumerate((having, lacking))
            ]
        else:
            drawn = _beside_another(photo, category, box)
        if not drawn:
            why.add("no caption without it can be had")
            continue
        patch = photo.patch_for(box)
        if patch is None:
            why.add("no plain place for a patch elsewhere")
            continue
        edits = PhotoEdit(erase=(patch,)), without(photo, box)
        captions = drawn[0], drawn[1]
        yield PhotoPair("add-object", photo.image, edits, captions, TRUE_OF_BOTH, (category,))


def _misspells(noun: str, caption: str) -> bool:
    """Whether a word of a caption is almost the noun (stop sighn)."""
    words = re.findall(r"[a-z]+", caption.lower())
    size = noun.count(" ") + 1
    phrases = [" ".join(words[k : k + size]) for k in range(len(words) - size + 1)]
    return bool(difflib.get_close_matches(noun, phrases, n=1, cutoff=MISSPELT))


def _beside_another(photo: Photo, category: str, box: FractionBox) -> list[str]:
    """Written captions: another thing with this one, and the other thing alone."""
    others = [
        (sum(map(area, boxes)), other, len(boxes) > 1)
        for other, boxes in photo.by_category().items()
        if other != category
        and sum(map(area, boxes)) >= AREA[0]
        and photo.said_in_plural(other) == (len(boxes) > 1)
        and photo.mentions(other)
        and all(overlap(grown(box), place) <= HIDDEN * area(place) for place in boxes)
    ]
    if not others:
        return []
    _, other, several = max(others)
    first, second = photo.names[other].noun, _with_article(photo.names[category].noun)
    first, verb = (plural(first), "are") if several else (_with_article(first), "is")
    start = f"There {verb} {first}"
    return [f"{start} and {second} in the picture.", f"{start} in the picture."]


def _with_article(noun: str) -> str:
    """With its article; skis, scissors and broccoli have none."""
    return noun if noun in WITHOUT_ARTICLE else f"{article(noun)} {noun}"


def _erasable(photo: Photo, why: set[str], *, mentions: int) -> list[tuple[str, FractionBox]]:
    found = []
    for category, boxes in photo.by_category().items():
        if len(boxes) != 1:
            why.add("several of its sort")
        elif photo.mentions(category) < mentions:
            why.add("too few captions name it")
        elif photo.said_in_plural(category):
            why.add("captions speak of several")
        elif can_go(photo, category, boxes[0], why):
            found.append((category, boxes[0]))
    return found


def can_go(photo: Photo, category: str, box: FractionBox, why: set[str]) -> bool:
    """Whether a box can be removed without removing much of anything else that is named."""
    if category in NEVER_ERASED or not AREA[0] <= area(box) <= AREA[1]:
        why.add("too small or too large")
        return False
    if not photo.mentions(category):
        why.add("no caption names it")
        return False
    spoilt = _spoils(photo, box, GROWTH)
    if spoilt:
        why.add(spoilt)
    return not spoilt


def without(photo: Photo, box: FractionBox) -> PhotoEdit:
    """The edit that removes a thing, from a larger hole if nothing else would go along."""
    free = not _spoils(photo, box, FURTHER_GROWTH)
    return PhotoEdit(erase=(box,), growth=FURTHER_GROWTH if free else 0.0)


def _spoils(photo: Photo, box: FractionBox, growth: float) -> str:
    """What would be lost with a box that has grown, in words; empty if nothing."""
    hole = grown(box, growth)
    for other, place in photo.boxes:
        if place == box:
            continue
        inside = overlap(hole, place)
        if other == "person" and inside > PERSON_IN_HOLE * area(hole):
            return "a person is in the hole"
        named = other in photo.names and photo.hinted(other)
        if named and inside > HIDDEN * area(place):
            return "it would take something else along"
    return ""


def visible(photo: Photo, category: str, box: FractionBox) -> bool:
    """Whether enough is seen of a thing: not a sliver at the edge, nor a seat behind its sitter."""
    left, _, width, height = box
    cut = left < EDGE or left + width > 1 - EDGE
    if cut and (width < SLIVER or (category == "person" and height < BODY)):
        return False
    people = [place for other, place in photo.boxes if other == "person"]
    return category not in SEATS or all(
        overlap(place, box) <= TAKEN * area(box) for place in people
    )


def _hides(box: FractionBox, photo: Photo, category: str) -> float:
    return sum(overlap(grown(box), other) for _, other in photo.boxes if other != box)


def _each_alone(photo: Photo, first: str, second: str, seed: int) -> tuple[str, str] | None:
    """For each thing, one of people's captions that does not mention the other."""
    drawn = []
    for one, other in ((first, second), (second, first)):
        texts = [
            text
            for text in photo.captions
            if photo.names[one].named.search(text) and not photo.names[other].hinted.search(text)
        ]
        if not texts:
            return None
        drawn.append(alike(texts[seeds.number(seed, "one", photo.image, one) % len(texts)]))
    return (drawn[0], drawn[1])


def _written(photo: Photo, first: str, second: str) -> tuple[str, str]:
    nouns = [photo.names[one].noun for one in (first, second)]
    if any(_with_article(noun) == noun for noun in nouns):
        return f"The picture shows {nouns[0]}.", f"The picture shows {nouns[1]}."
    texts = [f"There is {_with_article(noun)} in the picture." for noun in nouns]
    return texts[0], texts[1]
