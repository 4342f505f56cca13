"""`build negatives`: a caption beside a false one that differs in one detail."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput, UnknownName
from tellapart.mine.negatives import NegativesMethod
from tellapart.options import Gather, Help, ShardShare, Workers
from tellapart.types import Progress, silent
from tellapart.verbs.build import (
    CorpusArgument,
    FairBuildOptions,
    OutArgument,
    builder_card,
    builder_verb,
    closing,
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
    from tellapart.mine.negatives.negative import Negative, NegativeSet
    from tellapart.work.stages import StagedCrew

CANDIDATES = 200
"""How many negatives of each kind are made per caption, to choose balanced pairs from."""
SPLITS = ("train", "validation")
ADDING = {"add-object", "add-attribute"}
DETAILS_TOLD = {
    "both": "a true one against a false one: people wrote neither caption of the add kinds",
    "added": "a false one against none: for the add kinds, the longer caption is the false one",
}
"""What the card says about the details that the add kinds insert."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativesOptions(NegativesMethod, FairBuildOptions):
    """Which negatives, of which images, and the options of every builder."""

    split: Annotated[
        str,
        Help("Only images of this split: train or validation (disjoint for the same seed)."),
    ] = ""
    held_out: Annotated[float, Help("Share of images in the validation split.")] = 0.2
    ids: Annotated[
        tuple[Path | str, ...],
        Help("Only images listed in a file, one id per line; may be repeated.", repeat=True),
    ] = ()
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False


def negatives(
    corpus: CorpusArgument,
    out: OutArgument,
    options: NegativesOptions = NegativesOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """A caption beside a false one that differs in one detail: seven kinds of hard negative."""
    from tellapart.work.stages import no_shards, staged_crew

    stages = ("parses", "counts")
    with staged_crew(Path(out), options.workers, options.shard, options.gather, stages) as crew:
        if crew is not None and options.by != "rules":
            raise no_shards(f"what {options.by} writes", "--by rules")
        return _built(corpus, out, options, crew, progress)


def _built(
    corpus: Path | Corpus,
    out: Path | str,
    options: NegativesOptions,
    crew: StagedCrew | None,
    progress: Progress,
) -> Benchmark:
    from tellapart.files import write_parquet
    from tellapart.mine.negatives.negative import NegativesTask, parses_of

    source = _part(source_corpus(corpus, out, options), options)
    # Texts by a language model cost money, so all are kept; `refine` reduces them to a fair part.
    filtered = not options.unfiltered and options.by == "rules"
    wanted, most = options, options.items
    if filtered:
        wanted, most = replace(options, per_caption=max(options.per_caption, CANDIDATES)), None
    parses = parses_of(source, options, progress, crew)
    task = NegativesTask(source, parses, wanted, options.seed, most, progress, crew)
    if options.by == "rules":
        from tellapart.mine.negatives.rules import make

        result = make(task)
    else:
        from tellapart.mine.negatives.llm import make as make_by_model

        result = make_by_model(task)
    items, facts = (_fair if filtered else _all)(result, source, options, progress)
    alike = "alike: capital first, lower case, final mark"
    how = {
        "kinds": list(task.kinds),
        "negatives_by": options.by,
        **({"details": DETAILS_TOLD[task.details]} if set(task.kinds) & ADDING else {}),
        "form": "as written" if options.as_written else alike,
        **({"split": f"{options.split}, {options.held_out:g} held out"} if options.split else {}),
        "false_of_the_image": "judging by its captions and objects; not checked by people",
        "refused": result.refusals(),
        **result.about,
        **facts,
    }
    card = builder_card("negatives", source, options, how, items=items)
    built = save_items(
        card, source, items, out, overwrite=options.overwrite, copy_images=options.copy_images
    )
    for name, table in result.beside.items():
        write_parquet(Path(out) / f"{name}.parquet", table)
    return built


def _part(corpus: Corpus, options: NegativesOptions) -> Corpus:
    """The corpus restricted to a split, or to the listed images."""
    from tellapart import seeds
    from tellapart.corpus.reader import listed_ids

    if options.split not in ("", *SPLITS):
        raise UnknownName("split", options.split, SPLITS)
    kept = set(corpus.images["id"])
    if options.ids:
        kept = listed_ids(options.ids, kept)
    if options.split:
        # By the id, so that an image stays in its split whatever else the corpus contains.
        whole = 10**6
        apart = {
            image
            for image in kept
            if seeds.number(options.seed, "split", image) % whole < options.held_out * whole
        }
        kept = apart if options.split == "validation" else kept - apart
    if len(kept) == len(corpus):
        return corpus
    images = corpus.images.filter(corpus.images["id"].is_in(list(kept)))
    captions = corpus.captions.filter(corpus.captions["image"].is_in(list(kept)))
    if not captions.height:
        raise BadInput("no images are left to make negatives from", allowed="at least one")
    return replace(corpus, images=images, captions=captions)


def _all(
    result: NegativeSet, corpus: Corpus, options: NegativesOptions, progress: Progress
) -> tuple[list[Item], dict[str, Any]]:
    """As in the papers: all negatives, or a sample."""
    from tellapart.mine.negatives.negative import sample
    from tellapart.mine.verifier import Verifier

    verifier = Verifier(corpus, options.verifier)
    verified = (
        negative
        for negative in result.distinct(corpus)
        if verifier.may_differ(negative.image, negative.original, negative.text)
    )
    return _items(corpus, sample(verified, options.items, options.seed), options), {}


def _fair(
    result: NegativeSet, corpus: Corpus, options: NegativesOptions, progress: Progress
) -> tuple[list[Item], dict[str, Any]]:
    """Pairs of negatives with the same two texts, of which each is true once."""
    from tellapart.mine.balanced.candidates import PairCandidate, exchanged
    from tellapart.mine.balanced.pairs import BalancedPair, balanced_pairs
    from tellapart.mine.negatives.negative import negative_item, place_of_truth
    from tellapart.mine.verifier import Verifier
    from tellapart.store.cache import default_folder
    from tellapart.text.parse import parse
    from tellapart.text.parses import Parse

    verifier = Verifier(corpus, options.verifier)
    made = list(result.distinct(corpus))
    if not made:
        return [], {}
    candidates: list[PairCandidate] = []
    for one in made:
        start, end, put = exchanged(one.original, one.text)
        names = (one.original[start:end].lower(), put.lower())
        texts = (one.original, one.text)
        candidates.append(
            PairCandidate(one.caption, one.image, one.kind, *texts, start, end, put, *names)
        )

    def parsed(texts: Sequence[str]) -> Sequence[Parse]:
        cache = options.cache or default_folder()
        return parse(texts, model=options.parser, cache=cache, progress=progress)

    balanced = balanced_pairs(
        candidates, parsed, verifier.may_differ,
        items=options.items, seed=options.seed, progress=progress,
    )  # fmt: skip
    if not balanced.pairs:
        raise nothing_fair(len(candidates))

    def both(pair: BalancedPair) -> tuple[Item, Item]:
        one = replace(made[pair.first], original=pair.text, text=pair.other)
        other = replace(made[pair.second], original=pair.other, text=pair.text)
        # Both list the captions alike: who goes by places is right on half, too.
        place = place_of_truth(one, options.seed)
        first, second = (
            negative_item(
                corpus, own, as_written=options.as_written, seed=options.seed, place=there
            )
            for own, there in ((one, place), (other, 1 - place))
        )
        return first, second

    items = twins(map(both, balanced.pairs))
    return items, {**balanced.card(), **text_alone_card(items, corpus, options.seed, progress)}


def _items(corpus: Corpus, negatives: Iterable[Negative], options: NegativesOptions) -> list[Item]:
    """The items of negatives."""
    from tellapart.mine.negatives.negative import negative_item

    return [
        negative_item(corpus, negative, as_written=options.as_written, seed=options.seed)
        for negative in negatives
    ]


def _text(benchmark: Benchmark) -> str:
    """How many were made of each kind, and for how many captions none, by reason."""
    from tellapart.benchmark.benchmark import card_json
    from tellapart.text.table_text import aligned

    counts = card_json(benchmark)["counts"]["kinds"]
    refused = benchmark.card.made["refused"]
    rows = [("kind", "made", "refused")]
    for kind in benchmark.card.made["kinds"]:
        reasons = sorted(refused.get(kind, {}).items(), key=lambda pair: -pair[1])
        listed = ", ".join(f"{reason} {number:,}" for reason, number in reasons)
        rows.append((kind, f"{counts.get(kind, 0):,}", listed))
    return f"{aligned(rows, {0, 2})}\n\n{closing(benchmark)}"


VERB = replace(
    builder_verb(
        negatives,
        "tellapart build negatives captions.json my-negatives --kinds swap-object,add-attribute",
    ),
    text=_text,
)
