"""BISON: a caption and two similar images, of which it describes one.

Hu et al. 2019, section 4.1. The decoy of an image is the image whose captions are most like its
own; the caption must tell the two apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.items import Item, Origin
from tellapart.mine.building import BuildOptions, Verifier, finish
from tellapart.mine.neighbours.nearest import Neighbours
from tellapart.text.tfidf import tfidf
from tellapart.text.words import FUNCTION_WORDS, tokens


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """Pairs of neighbouring images with a caption that fits one of them."""
    items = list(_items(corpus, options))[: options.items]
    how = {
        "neighbours": "cosine of tf-idf over all words of all captions, exact",
        "caption": "true of the target alone by the verifier, fewest content words that the "
        "decoy's captions lack"
        if options.verifier
        else "most content words that the decoy's captions lack",
    }
    return finish("bison", corpus, items, out, options, ("accuracy",), how)


def _items(corpus: Corpus, options: BuildOptions) -> Iterator[Item]:
    captions = corpus.texts_by_image
    images = list(captions)
    verifier = Verifier(corpus, options.verifier)
    vectors = tfidf([" ".join(captions[image]) for image in images])
    blocks = Neighbours(vectors).nearest(10)
    neighbours = (row for block in blocks for row in block.indices)
    for done, (target, near) in enumerate(zip(images, neighbours, strict=True), 1):
        options.progress(done, len(images))
        for k in near[near >= 0]:
            decoy = images[int(k)]
            caption = _telling_caption(target, decoy, corpus, verifier)
            if caption:
                yield _item(corpus, target, decoy, caption, options.seed)
                break


def _telling_caption(target: str, decoy: str, corpus: Corpus, verifier: Verifier) -> str | None:
    """A caption that is true of the target alone.

    With a verifier the hardest such caption: the one with fewest content words that the decoy's
    captions lack. Without one the safest: the one with most of them.
    """
    captions = corpus.texts_by_image
    of_decoy = {word for text in captions[decoy] for word in tokens(text)}
    told = sorted((_new_words(text, of_decoy), k, text) for k, text in enumerate(captions[target]))
    if verifier.name:
        fits = (t for _, _, t in told if verifier.tells_apart(t, target, decoy))
        return next(fits, None)
    new_words, _, safest = max(told, key=lambda one: (one[0], -one[1]))
    return safest if new_words else None


def _new_words(text: str, known: set[str]) -> int:
    return len({w for w in tokens(text) if w not in known and w not in FUNCTION_WORDS})


def _item(corpus: Corpus, target: str, decoy: str, caption: str, seed: int) -> Item:
    place = int(seeds.rng(seed, "bison", target, decoy).integers(2))
    images = (target, decoy) if place == 0 else (decoy, target)
    return Item.built(
        "bison",
        images=images,
        captions=(caption,),
        true=frozenset({(place, 0)}),
        original=(place, 0),
        kind="bison",
        origin=Origin("tellapart build bison", corpus.name, target, seed),
    )
