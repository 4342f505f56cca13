"""`build negatives`: a caption of an image beside one that differs by a detail and is false."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart.mine.negatives import NegativesMethod
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
    from tellapart.mine.negatives.negative import NegativeMaker, NegativeSet, NegativesTask

MAKERS = {
    "rules": "tellapart.mine.negatives.rules",
    "llm": "tellapart.mine.negatives.llm",
}
"""Modules whose `make` makes negatives; one is imported when it is asked for."""


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
    from tellapart.mine.negatives.negative import NegativesTask, negative_item, sample
    from tellapart.mine.verifier import Verifier

    source = source_corpus(corpus, out, options)
    seed, limit = options.seed, options.items
    task = NegativesTask.of(source, options, seed=seed, items=limit, progress=progress)
    maker: NegativeMaker = import_module(MAKERS[options.by.partition(":")[0]]).make
    result = maker(task)
    verifier = Verifier(source, options.verifier)
    verified = (
        negative
        for negative in result.distinct(source)
        if verifier.may_fit(negative.image, negative.original)
        and verifier.may_be_false(negative.image, negative.text)
    )
    items = [
        negative_item(source, negative, as_written=options.as_written, seed=seed)
        for negative in sample(verified, limit, seed)
    ]
    card = builder_card("negatives", source, options, _how(task, result))
    built = save_items(card, source, items, out, overwrite=options.overwrite)
    for name, table in result.beside.items():
        write_parquet(Path(out) / f"{name}.parquet", table)
    return built


def _how(task: NegativesTask, result: NegativeSet) -> dict[str, Any]:
    form = (
        "as written" if task.method.as_written else "alike: capital first, lower case, final mark"
    )
    return {
        "kinds": list(task.kinds),
        "negatives_by": task.method.by,
        "form": form,
        "false_of_the_image": "by its captions and objects as far as they tell; not seen by people",
        "refused": result.refusals(),
        **result.about,
    }


def table(benchmark: Benchmark) -> str:
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
    return aligned(rows, {0, 2})


def _text(benchmark: Benchmark) -> str:
    return f"{table(benchmark)}\n{benchmark}  ->  {benchmark.root}"


VERB = replace(
    builder_verb(
        negatives,
        "tellapart build negatives captions.json my-negatives --kinds swap-object,add-attribute",
    ),
    text=_text,
)
