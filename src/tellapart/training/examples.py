"""Training examples of the drawn world: a scene, a near miss of it, and captions of both.

Worker processes draw them to disk once; then they are read in batches in any order.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.corpus.world import lexicon
from tellapart.corpus.world.edits import EditContext, near_miss
from tellapart.corpus.world.grammar import PICTURES, understand
from tellapart.corpus.world.painter import Painter, StorybookPainter, drawn_categories
from tellapart.corpus.world.scene import Scene, is_true
from tellapart.corpus.world.world import captions, random_scene
from tellapart.files import write_json
from tellapart.models.onnx import FORMAT, LOOK, MOST_WORDS, PAD, pixels, word_ids
from tellapart.text.english import plural
from tellapart.text.tokens import tokens
from tellapart.types import Progress, silent

CHUNK = 100
"""How many examples a worker draws at a time."""
SIDE = LOOK.size[0]
"""The side of the image tower's input, in pixels."""
DESCRIPTION = {
    "format": FORMAT,
    "normalise": False,
    "image": {
        "input": "pixels",
        "size": [SIDE, SIDE],
        "resize": LOOK.resize,
        "filter": LOOK.filter,
        "layout": LOOK.layout,
        "dtype": LOOK.dtype,
    },
    "text": {
        "input": "words",
        "tokenizer": {"kind": "words", "file": "vocabulary.json"},
    },
}
"""What `onnx:` must know about the trained model."""
PART = "train"
"""The half of all scenes used for training; benchmarks are built from the other half."""
PLAIN = 5
"""How many plain captions a scene gets besides the one that distinguishes it."""
SHARES = {
    "replace-object": 0.18,
    "replace-attribute": 0.18,
    "replace-relation": 0.18,
    "swap-object": 0.08,
    "swap-attribute": 0.08,
    "add-object": 0.15,
    "add-attribute": 0.15,
}
"""The share of each kind of near miss."""
FRAME = "a an the is are there can be seen of in at on to and with just only"


@dataclass(frozen=True, slots=True)
class NearMissExample:
    """Two scenes that differ by a detail.

    `texts[s][0]` is true of scene s and false of the other; the rest of `texts[s]` are plain
    captions of scene s, and `shared[s][k]` says whether `texts[s][k]` is true of both.
    """

    kind: str
    scenes: tuple[Scene, Scene]
    texts: tuple[tuple[str, ...], tuple[str, ...]]
    shared: tuple[tuple[bool, ...], tuple[bool, ...]]


def example(seed: int, index: int, painter: Painter, categories: Sequence[str]) -> NearMissExample:
    """The example of a number and seed; both of its scenes are in the part `train`."""
    rng = seeds.rng(seed, "training", index)
    kind = str(rng.choice(list(SHARES), p=list(SHARES.values())))
    while True:  # not every scene allows every kind
        scene = random_scene(rng, painter, categories, PART)
        miss = near_miss(kind, EditContext(scene, rng, painter, categories))
        if miss is None:
            continue
        scenes = scene, miss.negative_scene
        telling = miss.caption, miss.negative_caption
        plain = [_plain_captions(one, rng) for one in scenes]
        texts = (telling[0], *plain[0]), (telling[1], *plain[1])
        shared = _true_of(texts[0], scenes[1]), _true_of(texts[1], scenes[0])
        return NearMissExample(kind, scenes, texts, shared)


def _plain_captions(scene: Scene, rng: np.random.Generator) -> list[str]:
    """`PLAIN` captions; a simple scene repeats some."""
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


@dataclass(frozen=True)
class ExampleArrays:
    """Examples as arrays: n examples of two scenes (s) with 1 + `PLAIN` captions (k) each.

    `images` (n, s, SIDE, SIDE, 3) uint8; `words` (n, s, k, MOST_WORDS) ids, the distinguishing
    caption first; `shared` (n, s, k) marks captions that are true of both scenes; `kinds` (n,)
    names.
    """

    images: npt.NDArray[np.uint8]
    words: npt.NDArray[np.int64]
    shared: npt.NDArray[np.bool_]
    kinds: npt.NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.kinds)

    def part(self, where: slice) -> ExampleArrays:
        """Some of the examples."""
        return ExampleArrays(
            self.images[where], self.words[where], self.shared[where], self.kinds[where]
        )


@dataclass(frozen=True)
class TrainingBatch:
    """Scenes 2i and 2i + 1 are near misses of one another; row i of all arrays is scene i.

    `telling` and `plain` are captions as ids, distinguishing or plain; `shared` marks plain
    captions that are also true of the scene's near miss.
    """

    images: npt.NDArray[np.uint8]
    telling: npt.NDArray[np.int64]
    plain: npt.NDArray[np.int64]
    shared: npt.NDArray[np.bool_]


def draw_examples(
    folder: Path, number: int, seed: int, workers: int, progress: Progress = silent
) -> ExampleArrays:
    """Draw examples into a folder; the same ones for a seed, whatever the number of workers."""
    images = np.lib.format.open_memmap(
        folder / "images.npy", mode="w+", dtype=np.uint8, shape=(number, 2, SIDE, SIDE, 3)
    )
    words = np.full((number, 2, 1 + PLAIN, MOST_WORDS), PAD, np.int64)
    shared = np.zeros((number, 2, 1 + PLAIN), np.bool_)
    kinds: list[str] = []
    jobs = [(seed, k, min(k + CHUNK, number)) for k in range(0, number, CHUNK)]
    # Spawned processes: libraries in the parent may have threads, which a fork would break.
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for (_, start, end), (drawn, examples) in zip(jobs, pool.imap(_draw, jobs), strict=True):
            images[start:end] = drawn
            for k, one in enumerate(examples, start):
                for s in (0, 1):
                    ids = word_ids(one.texts[s], vocabulary())
                    words[k, s, :, : ids.shape[1]] = ids
                    shared[k, s] = one.shared[s]
                kinds.append(one.kind)
            progress("drawing", end, number)
    images.flush()
    return ExampleArrays(images, words, shared, np.array(kinds))


def _draw(job: tuple[int, int, int]) -> tuple[npt.NDArray[np.uint8], list[NearMissExample]]:
    seed, start, end = job
    painter, categories = StorybookPainter(), drawn_categories()
    examples = [example(seed, index, painter, categories) for index in range(start, end)]
    images = [[pixels(painter.paint(scene), LOOK) for scene in one.scenes] for one in examples]
    return np.stack(images), examples


def batches(
    examples: ExampleArrays, size: int, rng: np.random.Generator, leave_out: float = 0.0
) -> Iterator[TrainingBatch]:
    """All examples once, in random order, `size` pairs per batch; an incomplete batch is dropped.

    Each scene comes with its distinguishing caption and one random plain caption; a share
    `leave_out` of the plain captions loses one word (so that the text tower knows captions with a
    missing word, as in FOIL's T2).
    """
    order = rng.permutation(len(examples))
    for k in range(0, len(order) - size + 1, size):
        rows = np.sort(
            order[k : k + size]
        )  # sorted, so that the memory-mapped file is read forwards
        yield batch_of(examples, rows, rng.integers(1, 1 + PLAIN, (size, 2)), rng, leave_out)


def batch_of(
    examples: ExampleArrays,
    rows: npt.NDArray[np.integer[Any]],
    chosen: npt.NDArray[np.integer[Any]],
    rng: np.random.Generator,
    leave_out: float = 0.0,
) -> TrainingBatch:
    """The batch of some examples, with the plain captions of the chosen numbers (n, 2)."""
    pair, scene = np.repeat(rows, 2), np.tile([0, 1], len(rows))
    number = chosen.reshape(-1)
    plain = examples.words[pair, scene, number]
    shared = examples.shared[pair, scene, number]
    for row in np.flatnonzero(rng.random(len(plain)) < leave_out):
        plain[row], shared[row] = _without_a_word(plain[row], rng), True
    return TrainingBatch(
        images=examples.images[rows].reshape(-1, SIDE, SIDE, 3),
        telling=_trimmed(examples.words[pair, scene, 0]),
        plain=_trimmed(plain),
        shared=shared,
    )


def _without_a_word(
    words: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Ids with one word removed; without it the caption may be true of more pictures."""
    length = int((words != PAD).sum())
    if length < 2:
        return words
    return np.append(np.delete(words, rng.integers(length)), PAD)


def _trimmed(words: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return words[:, : int((words != PAD).sum(axis=1).max())]


def save_inputs(folder: Path) -> None:
    """Write the description of the towers' inputs: `vocabulary.json` and `model.json`."""
    words = json.dumps(vocabulary(), indent=0) + "\n"
    (folder / "vocabulary.json").write_text(words, "utf-8")
    write_json(folder / "model.json", DESCRIPTION)
