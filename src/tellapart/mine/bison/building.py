"""`build bison`: pairs of similar images and captions that tell them apart.

Hu et al. 2019, section 4.1. The paper's second and third stage are people's work (see `study.py`);
else a verifier chooses the captions, or a rule proposes them and the benchmark is not verified.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.items import Item, Origin
from tellapart.mine.bison.choosing import Asked, ByTelling, ByVerifier, Tally, pairs_of
from tellapart.mine.bison.options import BisonOptions
from tellapart.mine.bison.pairs import Nearest
from tellapart.mine.bison.statistics import statistics
from tellapart.mine.bison.study import write_for_study
from tellapart.mine.bison.vectors import Training, image_vectors
from tellapart.mine.building import BuildOptions, Verifier, finish, own_options
from tellapart.mine.captions import Captions


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """Pairs of neighbouring images with a caption that fits one of them."""
    own = own_options(options, BisonOptions)
    own.check()
    captions = Captions.of(corpus)
    training = Training(options.seed, own.fast_training, options.progress)
    vectors = image_vectors(captions, own.vectors, training)
    chooser = _chooser(captions, corpus, own, options)
    search = replace(own.search, seed=options.seed)
    nearest = Nearest.of(corpus, captions, vectors, own.neighbours * chooser.tries, search)
    targets = nearest.each(options.progress, in_random_order=options.items is not None)
    how = {**vectors.about, **nearest.for_card(), "directions": own.directions}
    if own.for_study:
        pairs = list(islice(pairs_of(targets, own.directions), options.items))
        _check_some(len(pairs), nearest, chooser.tally, options)
        return write_for_study(pairs, captions, corpus, out, options, how)
    asked = list(islice(chooser.asked(targets), options.items))
    _check_some(len(asked), nearest, chooser.tally, options)
    items = [_item(one, captions, corpus.name, options.seed) for one in asked]
    how |= {
        "caption": chooser.rule,
        "pairs": chooser.tally.pairs,
        "pairs_that_no_caption_tells_apart": chooser.tally.dropped,
        "statistics": statistics(captions, asked, _parser(own, corpus), options),
    }
    return finish("bison", corpus, items, out, options, ("accuracy",), how)


def _chooser(
    captions: Captions, corpus: Corpus, own: BisonOptions, options: BuildOptions
) -> ByTelling | ByVerifier:
    """What chooses captions: a verifier where there is one."""
    if not options.verifier or own.for_study:
        return ByTelling(captions, own.directions, own.least_telling)
    verifier = Verifier(corpus, options.verifier)
    return ByVerifier(captions, own.directions, own.neighbours, verifier)


def _check_some(number: int, nearest: Nearest, tally: Tally, options: BuildOptions) -> None:
    """There are items, or the reason why there are none is told."""
    if number:
        return
    images, known = len(nearest.captions.images), len(nearest.known)
    if images < 2:
        why = "the corpus has captions of one image, and a decoy is another"
    elif known < 2:
        why = f"{images - known:,} of {images:,} images have no words that the vectors know"
    elif not tally.pairs:
        why = f"all {known:,} images have the same captions, or are the same picture"
    else:
        why = f"of {tally.pairs:,} pairs of images no caption tells the images apart"
    raise BadInput(
        f"no item came out for {options.name or 'bison'}: {why}",
        allowed="images with captions that differ",
        todo="give a larger corpus, or looser options (--neighbours, --least-telling)",
    )


def _parser(own: BisonOptions, corpus: Corpus) -> str:
    """Parts of speech of the built-in world say nothing: its grammar is known."""
    return "none" if own.parser == "auto" and corpus.about.get("world") else own.parser


def _item(asked: Asked, captions: Captions, source: str, seed: int) -> Item:
    pair = asked.pair
    target, decoy = captions.images[pair.target], captions.images[pair.decoy]
    place = int(seeds.rng(seed, "bison", target, decoy).integers(2))
    return Item.built(
        "bison",
        images=(target, decoy) if place == 0 else (decoy, target),
        captions=(captions.texts[asked.caption],),
        true=frozenset({(place, 0)}),
        original=(place, 0),
        kind="bison",
        origin=Origin(
            "tellapart build bison",
            source,
            target,
            seed,
            notes={
                "caption": captions.ids[asked.caption],
                "similarity": f"{pair.similarity:.4f}",
                "telling": f"{asked.score:.3f}",
            },
        ),
    )
