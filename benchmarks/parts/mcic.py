"""The speed and memory of choosing MCIC's decoys, against the straightforward method.

Runs on the captions of COCO val2014 if TELLAPART_REAL_DATA is set, otherwise on the built-in world.
Vectors are given: PV-DBOW of 256 dimensions, trained beforehand. `mcic_s` is the choice of decoys
for every caption (N = 500 neighbours, BLEU of each, guards, choice) with an empty cache,
`mcic_peak_mb` the peak memory of that process, `mcic_build_s` the whole build with its files. The
straightforward method (gensim's `most_similar`, sacreBLEU, loops) is timed on a sample and
extrapolated to all captions. Prints one JSON line last.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import tellapart as ta
from tellapart.corpus.reader import read_corpus
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.informativeness import StemAgreement
from tellapart.mine.mcic.decoys import DecoyMine
from tellapart.mine.mcic.score import DecoyChoice, Guards
from tellapart.mine.neighbours.nearest import Search
from tellapart.mine.vectors import caption_vectors
from tellapart.mine.verifier import Verifier
from tellapart.text.gensim_vectors import ParagraphOptions, train_paragraph_vectors
from tellapart.types import silent
from tellapart.verbs.build.mcic import McicOptions

DIMENSIONS = 256
SAMPLE = 20
"""Captions of the straightforward way."""


def captions(folder: Path) -> ta.Corpus:
    """COCO val2014, or a world."""
    data = os.environ.get("TELLAPART_REAL_DATA")
    if not data:
        return ta.world(folder / "world", scenes=400, seed=0, overwrite=True)
    return read_corpus(Path(data) / "coco" / "captions_val2014.json.gz")


def write_vectors(corpus: ta.Corpus, path: Path) -> None:
    """A vector a caption, as the paper has them."""
    words = MinedCaptions.of(corpus).words
    np.save(path, train_paragraph_vectors(words, ParagraphOptions(DIMENSIONS, epochs=20)))


def mine(folder: Path) -> dict[str, float]:
    """The decoys of every caption, then the whole build with decoys from the cache."""
    corpus = captions(folder)
    begin = time.perf_counter()
    every = MinedCaptions.of(corpus)
    vectors = caption_vectors(every, str(folder / "vectors.npy"), silent)
    work = DecoyMine(
        every, vectors, StemAgreement.of(every), DecoyChoice(), Guards(), Search(),
        Verifier(corpus, ""), 0,
    )  # fmt: skip
    work.decoys(np.arange(len(every), dtype=np.int32))
    seconds = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    recall = work.neighbours.recall(work.choice.neighbours)
    begin = time.perf_counter()
    own = McicOptions(way="paper", vectors=str(folder / "vectors.npy"))
    made = ta.build("mcic", corpus, folder / "mcic", own)
    return {
        "captions": len(every),
        "items": len(made.items),
        "mcic_s": round(seconds, 1),
        "mcic_build_s": round(seconds + time.perf_counter() - begin, 1),
        "mcic_peak_mb": round(peak),
        "mcic_recall": round(recall, 4),
    }


def straightforward(folder: Path) -> float:
    """Seconds for one caption, the way that comes to mind first."""
    from gensim.models import KeyedVectors
    from sacrebleu import sentence_bleu

    every = MinedCaptions.of(captions(folder))
    vectors = KeyedVectors(DIMENSIONS)
    vectors.add_vectors(list(every.ids), np.load(folder / "vectors.npy"))
    vectors.fill_norms()
    place = {caption: k for k, caption in enumerate(every.ids)}
    begin = time.perf_counter()
    for target in np.random.default_rng(0).choice(len(every), SAMPLE, replace=False).tolist():
        scored = []
        for caption, cosine in vectors.most_similar(every.ids[target], topn=510):
            k = place[caption]
            if every.image_of[k] != every.image_of[target]:
                found = sentence_bleu(every.texts[k], [every.texts[target]]).score / 100
                scored.append((0.0 if found >= 0.5 else 0.3 * cosine + 0.7 * found, caption))
        sorted(scored, reverse=True)[:4]
    return (time.perf_counter() - begin) / SAMPLE


def main() -> None:
    """The choice in a process of its own, then the other way."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_vectors(captions(folder), folder / "vectors.npy")
        environment = {**os.environ, "TELLAPART_CACHE": str(folder / "cache")}
        command = [sys.executable, "-P", __file__, name]
        said = subprocess.check_output(command, env=environment, text=True)
        figures = json.loads(said.splitlines()[-1])
        other = straightforward(folder) * figures["captions"]
    figures["straightforward_s"] = round(other)
    figures["ratio_straightforward"] = round(other / figures["mcic_s"])
    print(json.dumps(figures))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(mine(Path(sys.argv[1]))))
    else:
        main()
