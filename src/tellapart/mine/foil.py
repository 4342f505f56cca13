"""FOIL: captions with one wrong word, from pairs of category words.

Shekhar et al. 2017, section 3. A target word is replaced only where it is salient (more than one
caption of the image has it) and only by a word of its supercategory that the image does not show.
Plurals, a/an and capitals stay right, so that grammar gives nothing away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.items import Item, Origin, Slot
from tellapart.mine.building import BuildOptions, Verifier, finish
from tellapart.mine.categories import Categories, categories_for
from tellapart.text.inflect import plural, put
from tellapart.text.tagging import LexiconTagger, Tagger

MEASURES = (
    "T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3", "accuracy",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Foil:
    """A caption with its target word replaced."""

    caption_id: str
    image: str
    original: str
    caption: str
    start: int
    target: str
    foil: str
    plural: bool


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """One foil an image, as a pair with its original and with T1, T2 and T3 in one item."""
    table = categories_for(corpus)
    tagger = LexiconTagger.of(table.name, table.nouns)
    items = list(_items(corpus, table, tagger, options))[: options.items]
    how = {
        "categories": table.name,
        "foil": "one at random for each image (no captioner)",
        "nouns and content words by": tagger.name,
        "T3": "candidates that the image shows are left out, as they may be true",
    }
    return finish("foil", corpus, items, out, options, MEASURES, how)


def _items(
    corpus: Corpus, table: Categories, tagger: Tagger, options: BuildOptions
) -> Iterator[Item]:
    verifier = Verifier(corpus, options.verifier)
    images = corpus.images["id"].to_list()
    rows = corpus.captions.rows_by_key("image", named=False)
    for done, image in enumerate(images, 1):
        options.progress(done, len(images))
        captions = [(row[0], row[1]) for row in rows.get(image, [])]
        found = list(foils(corpus, image, captions, table))
        order = seeds.rng(options.seed, "foil", image).permutation(len(found))
        for k in order:
            foil = found[int(k)]
            if verifier.may_fit(image, foil.original) and verifier.may_be_false(
                image, foil.caption
            ):
                yield _item(corpus, foil, table, tagger, options.seed)
                break


def foils(
    corpus: Corpus, image: str, captions: list[tuple[str, str]], table: Categories
) -> Iterator[Foil]:
    """Every foil caption of an image: salient targets, absent foils."""
    shown = corpus.objects(image)
    if shown is None:
        raise BadInput(
            f"nobody says which objects image {image} of {corpus.name} shows",
            allowed="a corpus with objects: FOIL must know which words would be true",
            todo="give a file of objects with --objects",
        )
    mentions = Counter(
        word for _, text in captions for word in {w for _, _, w, _ in table.found(text)}
    )
    for caption_id, text in captions:
        for start, end, target, is_plural in table.found(text):
            if mentions[target] < 2:
                continue
            for foil in table.mates(target):
                if foil in shown or foil in mentions:
                    continue
                word = plural(foil) if is_plural else foil
                changed = put(text, start, end, word)
                # a/an before the word may have changed its length
                begin = start + len(changed) - len(text) - len(word) + (end - start)
                yield Foil(caption_id, image, text, changed, begin, target, foil, is_plural)


def _item(corpus: Corpus, foil: Foil, table: Categories, tagger: Tagger, seed: int) -> Item:
    place = int(seeds.rng(seed, "foil", "order", foil.caption_id).integers(2))
    captions = (foil.original, foil.caption) if place == 0 else (foil.caption, foil.original)
    shown = corpus.objects(foil.image) or frozenset()
    end = foil.start + len(plural(foil.foil) if foil.plural else foil.foil)
    slot = Slot(
        caption=1 - place,
        start=foil.start,
        end=end,
        target=foil.target,
        foil=foil.caption[foil.start : end],
        plural=foil.plural,
        words=tagger.content_words(foil.caption),
        candidates=tuple(w for w in table.supercategory if w == foil.target or w not in shown),
    )
    return Item.built(
        "foil",
        images=(foil.image,),
        captions=captions,
        true=frozenset({(0, place)}),
        original=(0, place),
        kind=table.supercategory[foil.target],
        slot=slot,
        origin=Origin("tellapart build foil", corpus.name, foil.caption_id, seed),
    )
