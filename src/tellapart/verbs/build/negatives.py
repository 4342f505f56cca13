"""`build negatives`: a caption of an image beside one that differs by a detail and is false."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tellapart.mine.negatives import NegativesMethod
from tellapart.types import Progress, silent
from tellapart.verbs.build import (
    BuildOptions,
    CorpusArgument,
    OutArgument,
    builder_card,
    builder_verb,
    closing,
    save_items,
    source_corpus,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


ADDING = {"add-object", "add-attribute"}
DETAILS_TOLD = {
    "both": "a true one against a false one: people wrote neither caption of the add kinds",
    "added": "a false one against none: of the add kinds the longer caption is the false one",
}
"""What the card says of what the add kinds put in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegativesOptions(NegativesMethod, BuildOptions):
    """Which negatives, and what every builder can be told."""


def negatives(
    corpus: CorpusArgument,
    out: OutArgument,
    options: NegativesOptions = NegativesOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """A caption beside one that differs by a detail and is false: seven kinds of hard negative."""
    from tellapart.files import write_parquet
    from tellapart.mine.negatives.negative import NegativesTask, negative_item, parses_of, sample
    from tellapart.mine.verifier import Verifier

    source = source_corpus(corpus, out, options)
    seed, limit = options.seed, options.items
    task = NegativesTask(
        source, parses_of(source, options, progress), options, seed, limit, progress
    )
    if options.by == "rules":
        from tellapart.mine.negatives.rules import make

        result = make(task)
    else:
        from tellapart.mine.negatives.llm import make as make_by_model

        result = make_by_model(task)
    verifier = Verifier(source, options.verifier)
    verified = (
        negative
        for negative in result.distinct(source)
        if verifier.may_differ(negative.image, negative.original, negative.text)
    )
    items = [
        negative_item(source, negative, as_written=options.as_written, seed=seed)
        for negative in sample(verified, limit, seed)
    ]
    alike = "alike: capital first, lower case, final mark"
    how = {
        "kinds": list(task.kinds),
        "negatives_by": options.by,
        **({"details": DETAILS_TOLD[task.details]} if set(task.kinds) & ADDING else {}),
        "form": "as written" if options.as_written else alike,
        "false_of_the_image": "by its captions and objects as far as they tell; not seen by people",
        "refused": result.refusals(),
        **result.about,
    }
    card = builder_card("negatives", source, options, how, items=items)
    built = save_items(
        card, source, items, out, overwrite=options.overwrite, copy_images=options.copy_images
    )
    for name, table in result.beside.items():
        write_parquet(Path(out) / f"{name}.parquet", table)
    return built


def _text(benchmark: Benchmark) -> str:
    """How many of each kind, and for how many captions there is none, by the reason."""
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
