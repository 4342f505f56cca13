"""Attention checks and gold items: when one is due, and what a check looks like.

Of every `1 / share` items that a person gets, one is followed by an extra at a place drawn by
seed, so that extras are spread evenly and still cannot be foreseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tellapart import seeds
from tellapart.annotate.plan import Stage
from tellapart.annotate.questions.question import Following, Matter
from tellapart.items import Item

CHECKS = 40
"""Attention checks that a stage has in stock; nobody sees one twice."""


def due(share: float, items: int, seed: int, *path: str) -> int:
    """How many extras a person should have had after so many items.

    >>> [due(0.25, items, 0, "p-1") for items in (0, 4, 8, 40)]
    [0, 1, 2, 10]
    """
    if share <= 0:
        return 0
    length = max(1, round(1 / share))
    blocks, rest = divmod(items, length)
    place = 1 + int(seeds.unit(seed, "extra", *path, blocks) * length)
    return blocks + int(rest >= place)


def sample_matters(stages: Sequence[Stage], items: Sequence[Item]) -> Iterator[Matter]:
    """Matters of the last of some stages, as if the first option had always been chosen."""
    question = stages[-1].question
    if len(stages) == 1:
        for item in items:
            yield from question.matters(item)
        return
    if isinstance(question, Following):
        for earlier in sample_matters(stages[:-1], items):
            yield from question.follow(earlier, "0")


def attention_checks(stages: Sequence[Stage], items: Sequence[Item], seed: int) -> list[Matter]:
    """Checks for the last of some stages.

    A check has the pictures of one item with the texts of another, so that nobody has seen an item
    before its turn, and asks for an option that is drawn by seed.
    """
    stage = stages[-1]
    matters = list(sample_matters(stages, items))
    draw = seeds.rng(seed, "checks", stage.name)
    made = []
    for k in range(min(CHECKS, len(matters))):
        shown, told = (matters[int(i)] for i in draw.integers(len(matters), size=2))
        form = stage.question.form(replace(shown, captions=told.captions))
        keys = [option.key for option in (*form.options, *form.fixed)]
        asked = keys[int(draw.integers(len(keys)))]
        made.append(
            Matter(f"check-{k + 1}", "check", shown.images, told.captions, None, check=asked)
        )
    return made
