"""Enough English to rewrite a caption: plurals, a/an, capitals, final marks."""

from __future__ import annotations

import re

IRREGULAR = {
    "person": "people", "man": "men", "woman": "women", "child": "children", "foot": "feet",
    "tooth": "teeth", "mouse": "mice", "goose": "geese", "knife": "knives", "wife": "wives",
    "loaf": "loaves", "leaf": "leaves", "shelf": "shelves", "calf": "calves", "wolf": "wolves",
    "sheep": "sheep", "bison": "bison", "fish": "fish", "deer": "deer", "skis": "skis",
    "scissors": "scissors", "broccoli": "broccoli", "bus": "buses",
}  # fmt: skip
# Includes words whose first letter does not show the sound that they begin with.
VOWEL_SOUND = re.compile(r"(?!uni|use|eu|one\b|ukulele|u\b)[aeiou]|hour|honest|heir", re.I)


def plural(word: str) -> str:
    """The plural of a noun.

    >>> [plural(word) for word in ("bus", "knife", "toy", "toothbrush", "puppy", "fireman")]
    ['buses', 'knives', 'toys', 'toothbrushes', 'puppies', 'firemen']
    """
    head, _, last = word.rpartition(" ")
    if last in IRREGULAR:
        changed = IRREGULAR[last]
    elif re.search(r"(?<!hu)(?<!ger)man$", last):
        changed = last[:-3] + "men"
    elif re.search(r"(s|x|z|ch|sh)$", last):
        changed = last + "es"
    elif re.search(r"[^aeiou]y$", last):
        changed = last[:-1] + "ies"
    elif last in ("potato", "tomato"):
        changed = last + "es"
    else:
        changed = last + "s"
    return f"{head} {changed}" if head else changed


def article(word: str) -> str:
    """`a` or `an`, by the sound that the word begins with.

    >>> article("orange"), article("umbrella"), article("unicorn"), article("hour")
    ('an', 'an', 'a', 'an')
    """
    return "an" if VOWEL_SOUND.match(word) else "a"


def put(caption: str, start: int, end: int, word: str) -> str:
    """The caption with `word` at [start, end); a/an before it and capitals stay right.

    A capital belongs to the position at the start of a sentence, or if the whole caption is in
    capitals; otherwise it belongs to the old word (a TV, a Frisbee) and goes with it.

    >>> put("An apple on a plate.", 3, 8, "banana")
    'A banana on a plate.'
    >>> put("Dogs run.", 0, 4, "cats"), put("EAT AN APPLE", 7, 12, "pear"), put("A TV", 2, 4, "car")
    ('Cats run.', 'EAT A PEAR', 'A car')
    """
    before, old, after = caption[:start], caption[start:end], caption[end:]
    opens = before.rstrip()[-1:] in ("", ".", "!", "?")
    shouted = caption.isupper() and sum(map(str.isalpha, before + after)) > len("a")
    if shouted:
        word = word.upper()
    elif old[:1].isupper() and (opens or caption.istitle()):
        word = word[:1].upper() + word[1:]
    match = re.search(r"\b(an?)(\s+)$", before, re.I)
    if match:
        right = article(word)
        right = right.capitalize() if match.group(1)[0].isupper() else right
        right = right.upper() if shouted else right
        before = before[: match.start()] + right + match.group(2)
    return before + word + after


def drop(caption: str, start: int, end: int) -> str:
    """The caption without the word at [start, end), with one space in its place.

    >>> drop("A red dog runs.", 6, 9)
    'A red runs.'
    """
    before, after = caption[:start], caption[end:]
    if before.endswith(" ") and after[:1] in ("", " ", ".", ",", ";"):
        before = before[:-1]
    elif not before:
        after = after.lstrip()
    return before + after


def alike(caption: str) -> str:
    """A caption in uniform style: capital first, then lower case, single spaces, a final mark.

    Miranda et al. 2024, BiVLC, section 3.1, step 1: otherwise, positives written by people and
    negatives written by a model differ in form.

    >>> alike("  a DOG on the Beach ")
    'A dog on the beach.'
    """
    text = re.sub(r"\s+", " ", caption).strip()
    text = text[:1].upper() + text[1:].lower()
    return text if text.endswith((".", "!", "?")) else text + "."


def formed_like(model: str, caption: str) -> str:
    """A caption with the first letter's case and the final mark of another.

    >>> formed_like("a dog on the beach", "A cat on the beach.")
    'a cat on the beach'
    """
    first = caption[:1].upper() if model[:1].isupper() else caption[:1].lower()
    marks = re.search(r"[.!?]*\s*$", model)
    return first + caption[1:].rstrip(" .!?") + (marks.group() if marks else "")
