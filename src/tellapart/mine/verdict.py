"""The verdict on a new benchmark: are decoys near, can it be guessed, who checked it?

Near means as similar as two captions of one image of the same corpus; far means as similar as
captions of two random images. Cosines are of tf-idf, whatever the builder used, so that builders
can be compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.attack.text_alone import TextAlone
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.items import Item
from tellapart.text.table_text import percent
from tellapart.text.tfidf import tfidf

PAIRS = 2_000
"""At most this many random pairs of texts are compared."""
NEAR, FAR = 0.5, 0.2
"""On the scale from random captions (0) to captions of one image (1): near above, far below."""
CLEARLY = 0.02
"""A guess gets a warning if its lower end is at least this far above chance."""
TextPair = tuple[str, str]

REMEDIES = {
    "mcic": "--options fair-sets makes each caption of a set the true one once",
    "negatives": "without --unfiltered, both captions of an item are asked of two images, and each "
    "is true of one",
    "foil": "without --unfiltered, both captions of an item are asked of two images, and each is "
    "true of one",
}
"""What to do if a builder's items can be guessed."""

STUDIES = {"bison": "--ask which-image", "mcic": "--as mcic", "foil": "--as foil"}
"""The options of a study of a builder's items."""
PAIR = "pair"
"""The kind of items that still need a caption chosen by people."""


def nearness(corpus: Corpus, items: Sequence[Item], seed: int) -> dict[str, Any]:
    """Mean cosines for the card: of wrong options with right ones, and for comparison.

    Empty if nothing can be compared. `same_image` is None if images have one caption each.
    """
    rng = seeds.rng(seed, "verdict")
    by_image = corpus.texts_by_image
    decoys = list(_decoys(_sample(items, rng), by_image))
    images = _sample(list(by_image), rng)
    if not decoys or len(images) < 2:
        return {}
    whole = len(items[0].captions) == 1
    own = [halves for name in images if (halves := _halves(by_image[name], whole))]
    other = [_text(by_image[name], whole) for name in images]
    pairs = {"decoys": decoys, "same_image": own, "random": _neighbours(other)}
    texts = [text for some in pairs.values() for pair in some for text in pair]
    vectors = tfidf(texts)
    cosines = np.asarray(vectors[::2].multiply(vectors[1::2]).sum(axis=1)).ravel()
    parts = np.split(cosines, np.cumsum([len(some) for some in pairs.values()])[:-1])
    means = [round(float(part.mean()), 3) if len(part) else None for part in parts]
    return {"by": "cosine of tf-idf", **dict(zip(pairs, means, strict=True))}


def _sample(some: Sequence[Any], rng: np.random.Generator) -> list[Any]:
    """At most `PAIRS` of them, in a random order."""
    return [some[k] for k in rng.permutation(len(some))[:PAIRS].tolist()]


def _decoys(items: Sequence[Item], by_image: Mapping[str, Sequence[str]]) -> Iterator[TextPair]:
    """A right option of each item with a wrong one; an image is represented by its captions."""
    for item in items:
        for i, j in sorted(item.true):
            wrong = [k for k in range(len(item.captions)) if (i, k) not in item.true]
            others = [k for k in range(len(item.images)) if (k, j) not in item.true]
            if wrong:
                yield item.captions[j], item.captions[wrong[0]]
                break
            known = [by_image.get(item.images[k], ()) for k in (i, *others[:1])]
            if others and all(known):
                yield _text(known[0], True), _text(known[1], True)
                break


def _text(captions: Sequence[str], whole: bool) -> str:
    return " ".join(captions) if whole else captions[0]


def _halves(captions: Sequence[str], whole: bool) -> TextPair | None:
    """Two captions of an image, or all of them in two halves; None if there is only one."""
    if len(captions) < 2:
        return None
    half = len(captions) // 2 if whole else 1
    return _text(captions[:half], whole), _text(captions[half:], whole)


def _neighbours(texts: Sequence[str]) -> list[TextPair]:
    """Each text with the next one; they are in random order."""
    return list(pairwise(texts))


def verdict(benchmark: Benchmark) -> list[str]:
    """The closing lines of a build, each with advice."""
    builder = str(benchmark.card.made.get("by", "")).rpartition(" ")[2]
    near = _near_lines(benchmark.card.made.get("nearness") or {})
    if builder == "bison" and set(benchmark.items.frame["kind"]) == {PAIR}:
        todo = f"tellapart study create {benchmark.root} STUDY --as bison"
        waiting = f"not a test yet: people must choose and verify a caption for each pair: {todo}"
        return [*near, *_picture_lines(benchmark), waiting]
    lines = [*near, *_guess_lines(benchmark, builder), *_picture_lines(benchmark)]
    verified = benchmark.card.verified or (
        "by nobody; for people to do it: tellapart study create "
        f"{benchmark.root} STUDY {STUDIES.get(builder, '--ask choose-caption')}"
    )
    return [*lines, f"verified: {verified}"]


def _near_lines(near: Mapping[str, Any]) -> Iterator[str]:
    if not near:
        return
    decoys, same, random = near["decoys"], near["same_image"], near["random"]
    told = f"cosine {decoys:.2f}; captions of two random images {random:.2f}"
    if same is None or same <= random:
        yield f"decoys: {told}"
        return
    place = (decoys - random) / (same - random)
    word = "near" if place >= NEAR else "far" if place < FAR else "neither near nor far"
    advice = "" if place >= NEAR else "; more photographs would give nearer ones"
    yield f"decoys are {word}: {told}, of one image {same:.2f}{advice}"


def _guess_lines(benchmark: Benchmark, builder: str) -> Iterator[str]:
    """What the text alone gives away, in percent, if it has been measured."""
    if all(captions == 1 for _, captions in benchmark.items.shapes):
        yield "not guessable from the text alone: all images of an item have the same caption"
        return
    made = benchmark.card.made
    known = TextAlone.of_card(made, benchmark.sha256)
    above = known is not None and known.overall.low > known.overall.chance + CLEARLY
    if not above and _takes_turns(benchmark):
        yield (
            "not guessable from the text alone: of captions that are asked together, each is true "
            "as often as the others"
        )
        return
    if known is None:
        yield f"guessable: not measured yet; see: tellapart audit {benchmark.root}"
        return
    own = known.overall
    told = f"{percent(own.value)}% ({own.interval}, chance {percent(own.chance)}%)"
    told += f" by {known.attacker}"
    if above:
        remedy = REMEDIES.get(builder, "tellapart audit says how")
        yield f"guessable from the text alone: {told}; {remedy}"
    else:
        yield f"hardly guessable from the text alone: {told}"


def _takes_turns(benchmark: Benchmark) -> bool:
    """Whether of the captions that are asked together each is the true one as often."""
    sets: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for images, captions, true in benchmark.items.frame.select(
        "images", "captions", "true_cells"
    ).iter_rows():
        if len(images) != 1 or len(true) != 1:
            return False
        sets[tuple(sorted(captions))][captions[true[0][1]]] += 1
    return bool(sets) and all(
        set(times) == set(key) and len(set(times.values())) == 1 for key, times in sets.items()
    )


def _picture_lines(benchmark: Benchmark) -> Iterator[str]:
    images = list(benchmark.images)
    missing = sum(not benchmark.picture(name).is_there() for name in images)
    if missing:
        yield (
            f"pictures: {missing:,} of {len(images):,} are missing; give their folder with "
            "--images when you evaluate"
        )
