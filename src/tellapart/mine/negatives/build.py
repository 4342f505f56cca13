"""Negatives: a caption of an image beside one that differs from it by a detail and is false.

SugarCrepe (Hsieh et al. 2023) and TROHN-Text (Miranda et al. 2024, section 5.1) from any captions.
An item is one image and two captions; both have the same form, so that form gives nothing away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.items import Item, Origin
from tellapart.mine.building import BuildOptions, Verifier, finish, own_options
from tellapart.mine.negatives.edit import Negative
from tellapart.mine.negatives.making import NegativeMaker, NegativeSet, NegativesTask
from tellapart.mine.negatives.options import NegativesOptions
from tellapart.store.cache import default_folder
from tellapart.tables import write_parquet
from tellapart.text.english import alike
from tellapart.text.parse import parse

MAKERS = {
    "rules": "tellapart.mine.negatives.rules",
    "llm": "tellapart.mine.negatives.llm",
}
"""Modules whose `make` is the maker; a way is imported when it is asked for."""


def build(corpus: Corpus, out: Path, options: BuildOptions) -> Benchmark:
    """Negatives of the kinds asked for, at most so many of each for a caption."""
    own = own_options(options, NegativesOptions)
    task = task_of(corpus, own, options)
    made = _maker(own.by)(task)
    fitting = _fitting(distinct(corpus, made), Verifier(corpus, options.verifier))
    items = [_item(corpus, negative, own, options.seed) for negative in spread(fitting, options)]
    built = finish("negatives", corpus, items, out, options, ("accuracy",), _how(own, made))
    for name, table in made.beside.items():
        write_parquet(out / f"{name}.parquet", table)
    return built


def task_of(corpus: Corpus, own: NegativesOptions, options: BuildOptions) -> NegativesTask:
    """The captions with their parses, which are kept in the cache."""
    texts = corpus.captions["text"].to_list()
    cache = own.cache or default_folder()
    parses = parse(texts, model=own.parser, cache=cache, progress=options.progress)
    return NegativesTask(corpus, parses, own, options.seed, options.items, options.progress)


def _maker(by: str) -> NegativeMaker:
    maker: NegativeMaker = import_module(MAKERS[by.partition(":")[0]]).make
    return maker


def distinct(corpus: Corpus, made: NegativeSet) -> Iterator[Negative]:
    """Negatives that are there once, and that no caption of the image says in so many words.

    Two people may have written the same caption, and then get the same negative (pitfall 9).
    """
    said = {
        image: {alike(text).lower() for text in texts}
        for image, texts in corpus.texts_by_image.items()
    }
    seen: set[tuple[str, str, str]] = set()
    for negative in made.negatives:
        text = alike(negative.text).lower()
        key = (negative.image, alike(negative.original).lower(), text)
        if text in said[negative.image]:
            made.refused[negative.kind, "said elsewhere"] += 1
        elif key in seen:
            made.refused[negative.kind, "made already"] += 1
        else:
            seen.add(key)
            yield negative


def _fitting(negatives: Iterable[Negative], verifier: Verifier) -> Iterator[Negative]:
    """Negatives that a verifier, where there is one, finds false, and their originals true."""
    for negative in negatives:
        fits = verifier.may_fit(negative.image, negative.original)
        if fits and verifier.may_be_false(negative.image, negative.text):
            yield negative


def spread(negatives: Iterable[Negative], options: BuildOptions) -> Sequence[Negative]:
    """As many as are wanted, drawn by the seed: of all kinds equally many as far as they go."""
    every = list(negatives)
    if options.items is None or len(every) <= options.items:
        return every
    drawn = sorted(
        (seeds.unit(options.seed, "negatives", n.caption, n.kind, n.text), place)
        for place, n in enumerate(every)
    )
    rank: Counter[str] = Counter()
    turns: list[tuple[int, int]] = []
    for _, place in drawn:
        kind = every[place].kind
        turns.append((rank[kind], place))
        rank[kind] += 1
    kept = sorted(turns, key=lambda turn: turn[0])[: options.items]
    return [every[place] for place in sorted(place for _, place in kept)]


def _item(corpus: Corpus, negative: Negative, own: NegativesOptions, seed: int) -> Item:
    place = seeds.number(seed, "negatives", "order", negative.caption, negative.text) % 2
    both = (negative.original, negative.text)
    if not own.as_written:
        both = (alike(both[0]), alike(both[1]))
    changed = {"was": negative.was, "now": negative.now}
    return Item.built(
        "negatives",
        images=(negative.image,),
        captions=both if place == 0 else both[::-1],
        true=frozenset({(0, place)}),
        original=(0, place),
        kind=negative.kind,
        origin=Origin(
            "tellapart build negatives",
            corpus.name,
            negative.caption,
            seed,
            {**changed, **negative.notes},
        ),
    )


def _how(own: NegativesOptions, made: NegativeSet) -> dict[str, Any]:
    refused: dict[str, dict[str, int]] = {}
    for (kind, reason), number in sorted(made.refused.items()):
        refused.setdefault(kind, {})[reason] = number
    return {
        "kinds": list(own.kinds),
        "negatives by": own.by,
        "form": "as written" if own.as_written else "alike: capital first, lower case, final mark",
        "false of the image": "by its captions and objects as far as they tell; not seen by people",
        "refused": refused,
        **made.about,
    }
