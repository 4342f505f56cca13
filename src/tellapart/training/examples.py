"""Training examples of the drawn world: a scene, a near miss of it, and captions of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tellapart import seeds
from tellapart.corpus.world import lexicon
from tellapart.corpus.world.compose import captions, random_scene
from tellapart.corpus.world.drawing import Painter
from tellapart.corpus.world.edits import Desk, near_miss
from tellapart.corpus.world.grammar import PICTURES
from tellapart.corpus.world.reading import understand
from tellapart.corpus.world.scene import Scene
from tellapart.corpus.world.statement import is_true
from tellapart.text.inflect import plural
from tellapart.text.words import tokens

PART = "train"
"""The half of all scenes that training keeps to; benchmarks are built from the other half."""
PLAIN = 5
"""How many plain captions each scene gets, beside the one that tells it from its near miss."""
SHARES = {
    "replace-object": 0.18,
    "replace-attribute": 0.18,
    "replace-relation": 0.18,
    "swap-object": 0.08,
    "swap-attribute": 0.08,
    "add-object": 0.15,
    "add-attribute": 0.15,
}
"""How often each kind of near miss is wanted."""
FRAME = "a an the is are there can be seen of in at on to and with just only"


@dataclass(frozen=True, slots=True)
class Example:
    """Two scenes that differ by a detail.

    `texts[s][0]` is true of scene s and false of the other; the rest of `texts[s]` are plain
    captions of scene s, and `shared[s][k]` says whether `texts[s][k]` is true of both.
    """

    kind: str
    scenes: tuple[Scene, Scene]
    texts: tuple[tuple[str, ...], tuple[str, ...]]
    shared: tuple[tuple[bool, ...], tuple[bool, ...]]


def example(seed: int, index: int, painter: Painter, categories: Sequence[str]) -> Example:
    """The example of a number under a seed; both of its scenes are of the part `train`."""
    rng = seeds.rng(seed, "training", index)
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    while True:  # not every scene allows every kind
        scene = random_scene(rng, painter, categories, PART)
        miss = near_miss(kind, Desk(scene, rng, painter, categories))
        if miss is None:
            continue
        scenes = scene, miss.negative_scene
        telling = miss.caption, miss.negative_caption
        plain = [_plain_captions(one, rng) for one in scenes]
        texts = (telling[0], *plain[0]), (telling[1], *plain[1])
        shared = _true_of(texts[0], scenes[1]), _true_of(texts[1], scenes[0])
        return Example(kind, scenes, texts, shared)


def _plain_captions(scene: Scene, rng: np.random.Generator) -> list[str]:
    """`PLAIN` captions; a scene with little to tell repeats some."""
    written = captions(scene, rng, PLAIN)
    return [written[k % len(written)] for k in range(PLAIN)]


def _true_of(texts: Sequence[str], scene: Scene) -> tuple[bool, ...]:
    read = (understand(text) for text in texts)
    return tuple(statement is not None and is_true(statement, scene) for statement in read)


def vocabulary() -> list[str]:
    """Every word of the world's grammar, sorted."""
    categories = lexicon.CATEGORIES.values()
    nouns = [name for c in categories for name in (c.name, *c.synonyms)]
    tables = (lexicon.SIZE_WORDS, lexicon.COUNTS, lexicon.BACKGROUNDS, lexicon.RELATIONS)
    wordings = [wording for table in tables for options in table.values() for wording in options]
    phrases = [FRAME, *nouns, *map(plural, nouns), *lexicon.COLOURS, *wordings, *PICTURES]
    return sorted({word for phrase in phrases for word in tokens(phrase)})
