"""FOIL: captions with one wrong word, from pairs of category words.

Shekhar et al. 2017, section 3, all four steps: pairs of words within supercategories (1), split
between train and test (2), salient targets replaced by absent foils (3), the hardest foil of each
caption (4).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.mine.building import BuildOptions, Verifier, finish, own_options
from tellapart.mine.foil.foils import Foils, make_foils
from tellapart.mine.foil.hardest import Hardness, by_hardness, hardness
from tellapart.mine.foil.items import FoilItems, chance, counts
from tellapart.mine.foil.options import FoilOptions
from tellapart.text.content_words import LexiconTagger
from tellapart.text.spacy_pipeline import find_pipeline

MEASURES = (
    "T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3", "accuracy",
)  # fmt: skip


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """The hardest foil of each caption, as a pair with its original and with T1, T2 and T3."""
    own = own_options(options, FoilOptions)
    own.check()
    own = own.settled(world=bool(corpus.about.get("world")))
    foils = make_foils(corpus, own, options.seed, options.progress)
    tagger = _tagger(foils)
    facts = {} if own.split == "none" else {"split": own.part}
    maker = FoilItems(foils, tagger, options.seed, facts)
    with hardness(foils, own.hardest) as (score, way):
        items = list(_items(maker, score, own, options))
    if not items:
        raise _nothing(foils, own)
    how: dict[str, Any] = {
        "categories": f"{foils.table.name}, {len(foils.table.names)} words",
        **foils.pairs.facts,
        "target": f"in at least {own.mentions} captions of the image",
        "foil": _absence(own),
        "words": "replaced as they stand (plain)"
        if own.plain
        else "nouns, long names whole; a/an, plural and capitals are right",
        "hardest": f"one foil for each {own.per}, {way}",
        "nouns and content words by": tagger.name if tagger else find_pipeline(own.parser).name,
        "T3": "all words" if own.plain else "words that the image lacks: others may be true",
        "by supercategory": counts(foils, items),
        "chance": chance(items),
    }
    return finish("foil", corpus, items, out, options, MEASURES, how)


def _tagger(foils: Foils) -> LexiconTagger | None:
    """Who knows content words where there is no parse."""
    if foils.parses is not None:
        return None
    words = foils.table.nouns or tuple(name.word for name in foils.table.names)
    return LexiconTagger.of(foils.table.name, words)


def _absence(own: FoilOptions) -> str:
    if own.plain:
        return "not among the objects of the image"
    if own.absence == "captions":
        return "in no caption of the image (nobody says what else it shows)"
    return "neither among the objects of the image nor in its captions"


def _items(
    maker: FoilItems, score: Hardness, own: FoilOptions, options: BuildOptions
) -> Iterator[Item]:
    foils, verifier = maker.foils, Verifier(maker.foils.corpus, options.verifier)
    captions = np.unique(foils.caption)
    total = len(captions if own.per == "caption" else np.unique(foils.image[captions]))
    made: set[tuple[str, str]] = set()
    for done, rows in enumerate(by_hardness(foils, score, own.per, options.seed), 1):
        options.progress(done, total)
        for row in rows.tolist():
            key = foils.source(row)
            if key in made:  # the image has this caption twice
                continue
            item = maker.item(row)
            if _verified(item, verifier):
                made.add(key)
                yield item
                break
        if len(made) == options.items:
            return


def _verified(item: Item, verifier: Verifier) -> bool:
    """Whether the original may be true and the foil may be false."""
    (image,), slot = item.images, item.slot
    assert slot is not None
    original, foil = item.captions[1 - slot.caption], item.captions[slot.caption]
    return verifier.may_fit(image, original) and verifier.may_be_false(image, foil)


def _nothing(foils: Foils, own: FoilOptions) -> BadInput:
    """Why there is no item: at which step the last ones were lost."""
    if not len(foils.found):
        what = f"no caption has a word of the table {foils.table.name}"
        return BadInput(what, todo="give a table of categories with --categories")
    if not foils.rules.salient.any():
        return BadInput(
            f"no word of the table is in {own.mentions} captions of one image",
            allowed="images with several captions",
            todo="with one caption an image: --mentions 1",
        )
    return BadInput(
        f"no item came out for foil: {len(foils.found):,} words could be replaced, but no foil "
        "is absent from its image",
        todo="use all pairs with --split none",
    )
