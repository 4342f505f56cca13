"""The speed of making foils, and of the parse they need, against spaCy itself.

Runs on the captions and objects of COCO val2014 if TELLAPART_REAL_DATA is set, otherwise on the
built-in world. `parse_captions_per_s` is a fresh parse of distinct captions, including the start of
processes; `spacy_captions_per_s` is spaCy's own `pipe` on the same captions, with the same number
of processes and its pipeline already loaded. `foil_s` is steps 1 to 3 of FOIL with all pairs, with
the parse from the cache (where it is made first if missing). `negatives_per_s` counts captions
whose negatives of all kinds are made by rules, including learning the word lists but not the parse.
`refine_s` is the verb `refine` on 3.65 million scored negatives. Prints one JSON line last.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tellapart as ta
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.items import KINDS
from tellapart.mine.foil.foils import make_foils
from tellapart.mine.foil.hardest import language_scores
from tellapart.mine.negatives.negative import NegativesTask, parses_of
from tellapart.mine.negatives.rules import make
from tellapart.mine.negatives.rules.context import lists_for
from tellapart.seeds import rng
from tellapart.store.cache import default_folder
from tellapart.text.parse import parse
from tellapart.text.spacy_pipeline import DEFAULT, find_pipeline, load_pipeline
from tellapart.types import silent
from tellapart.verbs.benchmarks.refine import refine
from tellapart.verbs.build.foil import FoilOptions
from tellapart.verbs.build.negatives import NegativesOptions

SAMPLE = 30_000
"""Captions of the race between the two parsers."""
NEGATIVES = 3_652_846
"""Captions of TROHN-Text (Miranda et al. 2024, section 5.1)."""


def captions(folder: Path) -> Corpus:
    """COCO val2014 with its objects, or a world."""
    data = os.environ.get("TELLAPART_REAL_DATA")
    if not data:
        return ta.world(folder / "world", scenes=400, seed=0)
    coco = Path(data) / "coco"
    reading = ReadOptions(objects=coco / "objects_val2014.json.gz")
    return read_corpus(coco / "captions_val2014.json.gz", reading)


def timed(label: str, work: Any) -> tuple[float, Any]:
    """How long something takes, and what it gives."""
    print(f"{label} ...", file=sys.stderr, flush=True)
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def parsing(corpus: Corpus) -> dict[str, float]:
    """Ours against spaCy's own processes."""
    texts = list(dict.fromkeys(corpus.captions["text"].to_list()))[:SAMPLE]
    ours, _ = timed("parsing", lambda: parse(texts))
    nlp = load_pipeline(find_pipeline().source)
    cores = os.cpu_count() or 1
    peer, _ = timed(
        "parsing with spaCy alone",
        lambda: sum(len(doc) for doc in nlp.pipe(texts, n_process=cores, batch_size=1000)),
    )
    return {
        "parse_captions_per_s": round(len(texts) / ours),
        "spacy_captions_per_s": round(len(texts) / peer),
    }


def foil(corpus: Corpus) -> dict[str, float]:
    """Steps 1 to 3, then the scores that step 4 needs."""
    texts = corpus.captions["text"].to_list()
    timed("filling the cache", lambda: parse(texts, cache=default_folder()))
    own = FoilOptions(split="none", parser=DEFAULT)
    steps, foils = timed("FOIL, steps 1 to 3", lambda: make_foils(corpus, own, 0))
    scores, _ = timed("scores of foils", lambda: language_scores(foils))
    return {
        "captions": len(texts),
        "candidates": len(foils),
        "foil_s": round(steps, 2),
        "foil_scores_s": round(scores, 2),
    }


def negatives(corpus: Corpus) -> dict[str, float]:
    """Negatives by rules of all seven kinds, the parse given: the word lists, then the edits."""
    method = NegativesOptions()
    task = NegativesTask(corpus, parses_of(corpus, method, silent), method)
    learning, lists = timed("word lists", lambda: lists_for(task))
    editing, made = timed("negatives by rules", lambda: make(task, lists))
    return {
        "negatives": len(made.negatives),
        "negatives_lists_s": round(learning, 2),
        "negatives_per_s": round(corpus.captions.height / (learning + editing)),
    }


def refining(corpus: Corpus) -> dict[str, float]:
    """The verb on a table of as many scored negatives as TROHN-Text has; `corpus` is not looked at.

    Two scores of originals and negatives that hang together, seven kinds, some 32 negatives an
    image; reading the table and writing what became of each is included.
    """
    draw = rng(0, "scored negatives")
    kind, common = draw.integers(7, size=NEGATIVES), draw.normal(size=NEGATIVES)
    places = np.arange(NEGATIVES)
    columns: dict[str, Any] = {
        "id": [f"negative-{k:07d}" for k in draw.permutation(NEGATIVES)],
        "kind": np.array(KINDS)[kind],
        "group": [f"image-{k // 32}" for k in places],
        "caption": [f"Caption {k} of some dog in a park." for k in places],
        "negative_caption": [f"Caption {k} of a cat in a park." for k in places],
    }
    for name, cue in (("plausibility", 0.1), ("grammar", 0.05)):
        columns[name] = common + draw.normal(size=NEGATIVES)
        columns[f"negative_{name}"] = common + draw.normal(size=NEGATIVES) - cue * kind
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.parquet"
        pl.DataFrame(columns).write_parquet(path)
        del columns, common, kind
        seconds, told = timed("refining", lambda: refine(path, Path(folder) / "refined"))
    print(told, file=sys.stderr)
    return {"scored_negatives": NEGATIVES, "refine_s": round(seconds, 2)}


PARTS = (parsing, foil, negatives, refining)


def main() -> None:
    """Run all parts."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = captions(Path(folder))
        result: dict[str, float] = {}
        for part in PARTS:
            result |= part(corpus)
        result["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print(json.dumps(result))


if __name__ == "__main__":
    main()
