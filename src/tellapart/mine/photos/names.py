"""The names that a photograph's captions use for the objects in its boxes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tellapart.corpus.categories import Categories
from tellapart.text.english import plural

FURTHER = {
    "person": "person|man|woman|boy|girl|child|kid|baby|lady|guy|player|rider|skier|surfer|"
    "skateboarder|snowboarder|batter|pitcher|catcher|umpire|toddler|adult|chef|worker|officer|someone|somebody|hand|arm|finger|he|she|his|her|their|skater|cyclist|motorcyclist|pedestrian|couple|family|crowd|group|team|bride|groom",
    "potted plant": "potted plant|plant|house plant|houseplant|flower|bush|pot",
    "teddy bear": "teddy bear|teddy|stuffed bear|stuffed animal|teddybear|bear|toy|doll",
    "traffic light": "traffic light|stoplight|stop light|traffic signal|street light|signal|light",
    "stop sign": "stop sign|stopsign|sign",
    "parking meter": "parking meter|meter",
    "hot dog": "hot dog|hotdog|chili dog|sausage",
}
"""Categories without a one-word name, which FOIL's table leaves out; the name comes first."""
OTHER_NAMES = {
    "person": "man woman boy girl child kid lady guy toddler",
    "bicycle": "bike", "car": "automobile van taxi cab suv", "airplane": "plane jet airliner",
    "motorcycle": "motorbike moped scooter", "train": "locomotive tram", "bus": "minibus",
    "truck": "pickup firetruck", "boat": "ship sailboat canoe kayak yacht",
    "bird": "seagull gull pigeon duck goose swan parrot owl pelican chicken rooster",
    "cat": "kitten", "dog": "puppy pup", "horse": "pony foal", "sheep": "lamb", "cow": "bull calf",
    "couch": "sofa loveseat", "tv": "television", "refrigerator": "fridge", "oven": "stove",
    "cell phone": "cellphone smartphone iphone", "laptop": "macbook", "cup": "mug",
    "suitcase": "luggage", "handbag": "purse", "umbrella": "parasol", "donut": "doughnut",
    "sandwich": "hamburger burger", "wine glass": "wineglass", "skis": "ski",
    "chair": "armchair stool",
    "tennis racket": "racquet", "tie": "necktie", "frisbee": "frisbie", "dining table": "desk",
    "potted plant": "plant houseplant", "teddy bear": "teddy", "traffic light": "stoplight",
    "hot dog": "hotdog", "parking meter": "meter",
}  # fmt: skip
"""Words that name the thing itself, not just hint at it."""

WIDER = {
    "vehicle": "vehicle car truck", "animal": "animal pet", "furniture": "furniture furnishing",
    "appliance": "appliance", "food": "food fruit vegetable meal", "kitchen": "utensil dish drink",
    "electronic": "electronics device gadget", "sports": "board equipment gear",
}  # fmt: skip
"""By supercategory: words that may mean a thing without naming it (two cars: a car and a truck)."""
FURTHER_HINTS = {"bowl": "soup sauce salad cereal dip", "cup": "tea coffee", "bottle": "wine water"}
PART_OF_NAME = (
    "tree trees chair chairs field court station stop track tracks yard shop box holder seat room "
    "stand rack bread cake house food"
).split()
"""After these a word names something else: a banana tree, a computer chair, a bus stop."""
TWO = "(?:two|a couple of|a pair of|2|both)"


@dataclass(frozen=True, slots=True)
class ObjectName:
    """How captions are searched for a category, and its name in a new caption.

    `named` finds its own names, `several` their plurals, `two` those after "two", `hinted` also
    words that suggest it.
    """

    category: str
    noun: str
    named: re.Pattern[str]
    several: re.Pattern[str]
    two: re.Pattern[str]
    hinted: re.Pattern[str]


def object_names(table: Categories) -> dict[str, ObjectName]:
    """Every category that has a name, including COCO's multi-word categories."""
    found: dict[str, ObjectName] = {}
    for name in table.names:
        own = (name.word, *name.long, *OTHER_NAMES.get(name.category, "").split())
        noun = name.one.removeprefix("pair of ").removeprefix("piece of ") or name.word
        wider = WIDER.get(name.supercategory, "").split()
        hints = (*own, *name.synonyms, *wider, *FURTHER_HINTS.get(name.category, "").split())
        found[name.category] = _object_name(name.category, noun, own, hints)
    for category, words in FURTHER.items():
        first, *others = words.split("|")
        own = (first, *OTHER_NAMES.get(category, "").split())
        found.setdefault(category, _object_name(category, first, own, (*own, *others)))
    return found


def _object_name(
    category: str, noun: str, own: tuple[str, ...], hints: tuple[str, ...]
) -> ObjectName:
    plurals = [plural(word) for word in own if plural(word) != word]
    many = [rf"{TWO}(?: [a-z]+)? {plural(word)}" for word in own]
    return ObjectName(
        category,
        noun,
        named=_words([*own, *plurals], rf"(?! (?:{'|'.join(PART_OF_NAME)})\b)"),
        several=_words([*plurals, f"(?:two|three|four|five|six|many|several|some|few) {own[0]}"]),
        two=_words(many),
        hinted=_words([*hints, *(plural(word) for word in hints), *_stems(hints)]),
    )


def _stems(words: tuple[str, ...]) -> list[str]:
    """Forms such as skateboarding and umbrella-covered: whatever begins with a longer word."""
    return [rf"{re.escape(word)}\w*" for word in words if len(word) >= 5]


def _words(parts: list[str], ahead: str = "") -> re.Pattern[str]:
    longest_first = sorted(dict.fromkeys(part.replace(" ", r"[\s-]?") for part in parts), key=len)
    return re.compile(rf"\b(?:{'|'.join(reversed(longest_first))})\b{ahead}", re.IGNORECASE)
