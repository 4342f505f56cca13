"""`build mcic`: algorithm MC-IC on a corpus (Ding et al. 2016, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.mine.building import BuildOptions, Verifier, own_options
from tellapart.mine.captions import Captions, Ints
from tellapart.mine.mcic import fair
from tellapart.mine.mcic.decoys import Mine
from tellapart.mine.mcic.items import Made, asked
from tellapart.mine.mcic.options import McicOptions
from tellapart.mine.mcic.settling import settle
from tellapart.mine.mcic.splits import split_of_images
from tellapart.mine.mcic.telling import Vocabulary
from tellapart.mine.mcic.vectors import CaptionVectors
from tellapart.mine.mcic.writing import Part, write


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """An item for each caption, with decoys by Score; or fair sets of options."""
    own = own_options(options, McicOptions)
    own.check()
    if own.way == "fair-sets" or (own.way == "auto" and corpus.about.get("world")):
        return fair.build(corpus, out, options)
    captions = Captions.of(corpus)
    if len(captions.images) < 2:
        raise BadInput(
            f"no item came out for {options.name or 'mcic'}: {corpus.name} has captions of one "
            "image, and decoys come from others",
            allowed="captions of several images",
        )
    settled = settle(captions, own, options)
    own = replace(own, choice=settled.choice)
    parts = list(_parts(captions, settled.vectors, corpus, own, options))
    how = {
        "options": "for each caption the captions of other images with the highest Score",
        **settled.for_card(),
        "guards": asdict(own.guards),
        "splits": own.splits,
    }
    return write(parts, how, settled.trials, corpus, out, options)


def _parts(
    captions: Captions,
    every: CaptionVectors,
    corpus: Corpus,
    own: McicOptions,
    options: BuildOptions,
) -> Iterator[Part]:
    """The items of each split, or of the whole corpus."""
    verifier = Verifier(corpus, options.verifier)
    vocabulary = Vocabulary.of(captions)
    for name, places in _places(captions, own, options.seed).items():
        pool, vectors, targets = captions, every, places
        if own.guards.own_split and len(places) < len(captions):
            pool, vectors = captions.only(places), vectors.only(places)
            targets = np.arange(len(places), dtype=np.int32)
        if options.items is not None:
            targets = seeds.rng(options.seed, "mcic", "targets", name).permutation(targets)
        mine = Mine(pool, vectors, vocabulary, own, verifier, options.seed)
        chosen = mine.decoys(targets, options.progress, options.items)
        targets = targets[: len(chosen.captions)]
        made = Made(corpus.name, options.seed, own.guards, {"split": name} if name else {})
        items = list(asked(pool, targets, chosen, made))[: options.items]
        facts = {
            "search": mine.neighbours.method,
            "recall": round(mine.neighbours.recall(own.choice.neighbours), 4),
            "true_captions_let_through": round(mine.true_captions_let_through, 4),
        }
        yield Part(name, pool, targets, chosen, items, facts)


def _places(captions: Captions, own: McicOptions, seed: int) -> dict[str, Ints]:
    """The captions of each split; one without a name where nothing is split."""
    if not own.splits:
        return {"": np.arange(len(captions), dtype=np.int32)}
    names, split = split_of_images(captions, own.splits, seed)
    of_caption = split[captions.image_of]
    return {n: np.flatnonzero(of_caption == k).astype(np.int32) for k, n in enumerate(names)}
