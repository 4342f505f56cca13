"""`build foil`: captions with one wrong word (Shekhar et al. 2017)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tellapart.mine.foil import FoilMethod
from tellapart.types import Progress, silent
from tellapart.verbs.build import (
    BuildOptions,
    CorpusArgument,
    OutArgument,
    builder_card,
    builder_verb,
    save_items,
    source_corpus,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark

MEASURES = (
    "T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3", "accuracy",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FoilOptions(FoilMethod, BuildOptions):
    """The method of FOIL, and what every builder can be told."""


def foil(
    corpus: CorpusArgument,
    out: OutArgument,
    options: FoilOptions = FoilOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Captions with one wrong word: is it right, which word is wrong, what should it be?"""
    from tellapart.mine.foil.foils import make_foils
    from tellapart.mine.foil.hardest import hardness
    from tellapart.mine.foil.items import FoilItems, chance, counts, nothing_left
    from tellapart.mine.verifier import Verifier

    options.check()
    source = source_corpus(corpus, out, options)
    method = options.resolved(world=bool(source.about.get("world")))
    foils = make_foils(source, method, options.seed, progress)
    maker = FoilItems(foils, method, options.seed)
    verifier = Verifier(source, options.verifier)
    with hardness(foils, method.hardest) as (score, chooser):
        items = list(maker.hardest(score, verifier, options.items, progress))
    if not items:
        raise nothing_left(foils, method)
    how = {
        **maker.card(chooser),
        "by_supercategory": counts(foils, items),
        "chance": chance(items),
    }
    card = builder_card("foil", source, options, how, MEASURES, items=items)
    return save_items(
        card, source, items, out, overwrite=options.overwrite, copy_images=options.copy_images
    )


def _tables(made: Mapping[str, Any]) -> Iterator[str]:
    """The counts by supercategory and the chance levels."""
    from tellapart.mine.foil.items import table

    yield table(made)


VERB = builder_verb(
    foil,
    "tellapart build foil captions_val2014.json my-foil --objects instances_val2014.json",
    _tables,
)
