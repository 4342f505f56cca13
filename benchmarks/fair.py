"""The speed of attackers and of the choice of pairs, and the fairness of built benchmarks.

Runs on COCO if TELLAPART_REAL_DATA is set, otherwise on the built-in world. `attack_s` is an attack
on 50,000 pairs with the captions of val2014 known: both attackers, and every family alone.
`filter_s` is the choice of balanced pairs among 200,000 candidates whose captions are parsed.
Neither includes making the candidates; `attack_cpu_s` and `filter_cpu_s` are their processor times,
which do not depend on the machine's load; `peak_mb` is the peak memory so far. `--speed` ends after
that. `foil_text_only`, `negatives_text_only` and `mcic_text_only` are the stronger attacker's
scores, in percent, on benchmarks built from val2017; the attacker knows val2014's other images. The
yields are shares of the output of the same command with `--unfiltered`. Prints one JSON line last.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

import tellapart as ta
from tellapart.attack.attack import (
    Attackers,
    attack_benchmark,
    attack_choices,
)
from tellapart.attack.choices import paired_choices
from tellapart.attack.statistics import CaptionSource
from tellapart.corpus.coco import plain_id
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.mine.balanced.pairs import balanced_pairs
from tellapart.mine.foil.foils import make_foils
from tellapart.mine.foil.items import FoilItems
from tellapart.store.cache import default_folder
from tellapart.text.parse import parse
from tellapart.text.spacy_pipeline import DEFAULT
from tellapart.verbs.build import BuildOptions, build
from tellapart.verbs.build.foil import FoilOptions
from tellapart.verbs.build.mcic import McicOptions
from tellapart.verbs.build.negatives import NegativesOptions

PAIRS, CANDIDATES = 50_000, 200_000
OTHER_SEED = 4_242
"""Folds and trees of the check are drawn by another seed than the builders'."""


def timed(label: str, work: Any) -> tuple[dict[str, float], Any]:
    """How long something takes, by the clock and of processors, and what it gives."""
    print(f"{label} ...", file=sys.stderr, flush=True)
    begin, own = time.perf_counter(), time.process_time()
    result = work()
    seconds = {"s": time.perf_counter() - begin, "cpu_s": time.process_time() - own}
    return {f"{label}_{name}": round(value, 1) for name, value in seconds.items()}, result


def corpora(folder: Path) -> tuple[Corpus, Corpus]:
    """What is built from, and a corpus of other images that the attacker knows."""
    data = os.environ.get("TELLAPART_REAL_DATA")
    if not data:
        small = [ta.world(folder / str(k), scenes=200, seed=k) for k in range(2)]
        return small[0], small[1]
    coco = Path(data) / "coco"
    reading = ReadOptions(objects=coco / "objects_val2014.json.gz")
    own = read_corpus(coco / "captions_val2017.json.gz", reading)
    large = read_corpus(coco / "captions_val2014.json.gz", reading)
    inside = {plain_id(name) for name in own.images["id"]}
    images = large.images.filter(
        ~pl.col("id").map_elements(lambda name: plain_id(name) in inside, pl.Boolean)
    )
    captions = large.captions.filter(pl.col("image").is_in(images["id"].implode()))
    return own, replace(large, images=images, captions=captions)


def speed(corpus: Corpus) -> dict[str, float]:
    """The attack on pairs and the choice among candidates, from the foils of a corpus."""
    method = FoilOptions(split="none").resolved(
        world=bool(corpus.about.get("world")), filtered=True
    )
    if method.parser == "none":
        method = replace(method, parser=DEFAULT)
    maker = FoilItems(make_foils(corpus, method, 0), method, 0)
    candidates = maker.candidates()[:CANDIDATES]
    some = candidates[:PAIRS]
    pairs = paired_choices(
        [(one.true, one.false) for one in some],
        [one.kind for one in some],
        [one.image for one in some],
    )
    source = CaptionSource.of_corpus(corpus)
    attack_s, attack = timed("attack", lambda: attack_choices(pairs, source, "pairs"))
    parsed = partial(parse, model=method.parser, cache=default_folder())
    parsed([one.true for one in candidates])  # captions have been parsed to make candidates
    filter_s, chosen = timed(
        "filter", lambda: balanced_pairs(candidates, parsed, lambda *asked: True)
    )
    print(attack, len(chosen.pairs), file=sys.stderr)
    return {"pairs": len(pairs), **attack_s, "candidates": len(candidates), **filter_s}


def fairness(corpora: Sequence[Corpus], folder: Path) -> dict[str, float]:
    """What an attacker gets of each builder's items, and how many of them there are."""
    corpus, known = corpora
    source = CaptionSource.of_corpus(known)
    ways: dict[str, tuple[BuildOptions, ...]] = {
        "foil": tuple(FoilOptions(look=False, unfiltered=one) for one in (False, True)),
        "negatives": tuple(NegativesOptions(look=False, unfiltered=one) for one in (False, True)),
        "mcic": (McicOptions(look=False),),
    }
    result: dict[str, float] = {}
    for name, options in ways.items():
        made = [
            timed(f"build {name}", partial(build, name, corpus, folder / f"{name}{k}", own))[1]
            for k, own in enumerate(options)
        ]
        attack = attack_benchmark(made[0], source, Attackers(OTHER_SEED))
        assert attack is not None
        print(attack, file=sys.stderr)
        result[f"{name}_text_only"] = round(100 * attack.overall.value, 2)
        if len(made) > 1:
            result[f"{name}_yield"] = round(len(made[0]) / len(made[1]), 3)
    return result


def main() -> None:
    """Run all parts."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, known = corpora(Path(folder))
        result = speed(known)
        result["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        if "--speed" not in sys.argv:
            result |= fairness((corpus, known), Path(folder))
        print(json.dumps(result))


if __name__ == "__main__":
    main()
