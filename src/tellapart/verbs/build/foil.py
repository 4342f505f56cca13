"""`build foil`: captions with one wrong word (Shekhar et al. 2017)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart.errors import BadInput
from tellapart.mine.foil import FoilMethod
from tellapart.options import Gather, ShardShare, Workers
from tellapart.types import Progress, silent
from tellapart.verbs.build import (
    CorpusArgument,
    FairBuildOptions,
    OutArgument,
    builder_card,
    builder_verb,
    nothing_fair,
    save_items,
    source_corpus,
    text_alone_card,
    twins,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.items import Item
    from tellapart.mine.foil.items import FoilItems
    from tellapart.text.parses import Parse
    from tellapart.work.stages import StagedCrew

MEASURES = (
    "T1", "T1-correct", "T1-foil", "T1-AUC", "T2-nouns", "T2-content", "T3", "accuracy",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FoilOptions(FoilMethod, FairBuildOptions):
    """Options of the FOIL method, and those of every builder."""

    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False


def foil(
    corpus: CorpusArgument,
    out: OutArgument,
    options: FoilOptions = FoilOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Captions with one wrong word: is it right, which word is wrong, what should it be?"""
    from tellapart.work.stages import staged_crew

    options.check()
    with staged_crew(Path(out), options.workers, options.shard, options.gather) as crew:
        return _built(corpus, out, options, crew, progress)


def _built(
    corpus: Path | Corpus,
    out: Path | str,
    options: FoilOptions,
    crew: StagedCrew | None,
    progress: Progress,
) -> Benchmark:
    from tellapart.mine.foil.foils import make_foils
    from tellapart.mine.foil.hardest import seeing_captioner
    from tellapart.mine.foil.items import FoilItems, chance, counts, nothing_left
    from tellapart.work.stages import no_shards

    source = source_corpus(corpus, out, options)
    world = bool(
        source.about.get("world")
    )  # its words are about equally likely, so nothing is filtered
    filtered = not options.unfiltered and not world
    method = options.resolved(
        world=world, filtered=filtered, seeing=None if filtered else seeing_captioner(source)
    )
    if crew is not None and method.parser == "none":
        raise no_shards("build foil without a parser", "a parser: its parses are cut")
    foils = make_foils(source, method, options.seed, progress, crew)
    maker = FoilItems(foils, method, options.seed)
    way = _fair if filtered else _hardest
    items, chosen = way(maker, source, options, progress)
    if not items:
        raise nothing_left(foils, method)
    how = {
        **chosen,
        "by_supercategory": counts(foils, items),
        "chance": chance(items),
    }
    card = builder_card("foil", source, options, how, MEASURES, items=items)
    return save_items(
        card, source, items, out, overwrite=options.overwrite, copy_images=options.copy_images
    )


def _hardest(
    maker: FoilItems, corpus: Corpus, options: FoilOptions, progress: Progress
) -> tuple[list[Item], dict[str, Any]]:
    """The paper's way: the hardest foil of each caption."""
    from tellapart.mine.foil.hardest import hardness
    from tellapart.mine.verifier import Verifier

    verifier = Verifier(corpus, options.verifier)
    with hardness(maker.foils, maker.method.hardest) as (score, chooser):
        items = list(maker.hardest(score, verifier, options.items, progress))
    return items, maker.card(chooser)


def _fair(
    maker: FoilItems, corpus: Corpus, options: FoilOptions, progress: Progress
) -> tuple[list[Item], dict[str, Any]]:
    """Pairs of items with the same two captions, of which each is true once."""
    from tellapart.mine.balanced.pairs import balanced_pairs
    from tellapart.mine.verifier import Verifier
    from tellapart.store.cache import default_folder
    from tellapart.text.parse import parse

    if options.hardest != "auto":
        raise BadInput(
            f"--hardest {options.hardest} picks foils that text alone may tell from the truth",
            todo="add --unfiltered, or omit --hardest",
        )
    if maker.foils.parses is None:
        raise BadInput(
            "fair foils need a parser: it tells what a caption says",
            todo="add --unfiltered, or omit --parser none",
        )
    verifier = Verifier(corpus, options.verifier)
    candidates = maker.candidates()
    if not candidates:
        return [], {}

    def parsed(texts: Sequence[str]) -> Sequence[Parse]:
        return parse(texts, model=maker.method.parser, cache=default_folder(), progress=progress)

    balanced = balanced_pairs(
        candidates, parsed, verifier.may_differ,
        items=options.items, seed=options.seed, progress=progress,
    )  # fmt: skip
    if not balanced.pairs:
        raise nothing_fair(len(candidates))
    texts = parsed([pair.text for pair in balanced.pairs])
    both = maker.both(balanced.pairs, range(len(candidates)), texts)
    chosen = "as true of another image as it is false of this one"
    items = twins(both)
    figure = text_alone_card(items, corpus, options.seed, progress)
    return items, {**maker.card(chosen), **balanced.card(), **figure}


def _tables(made: Mapping[str, Any]) -> Iterator[str]:
    """The counts by supercategory and the chance levels."""
    from tellapart.mine.foil.items import table

    yield table(made)


VERB = builder_verb(
    foil,
    "tellapart build foil captions_val2014.json my-foil --objects instances_val2014.json",
    _tables,
)
