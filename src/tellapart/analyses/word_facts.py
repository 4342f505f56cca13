"""Facts about words: how similar a target and its foil are, and how frequent each is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tellapart.corpus.reader import read_corpus
from tellapart.errors import BadInput
from tellapart.text.tokens import tokens
from tellapart.text.word_vectors import read_vectors

SIMILARITY, TARGET, FOIL = "similarity", "target_frequency", "foil_frequency"
WORD_FACTS = {
    SIMILARITY: "FOIL: the cosine of the vectors of target and foil (needs --vectors)",
    TARGET: "FOIL: how often the target occurs in captions, as log10(count + 1)",
    FOIL: "FOIL: the same for the foil",
}
"""Facts that are computed only if a regression names them."""


def word_frequencies(words: Iterable[str], captions: Iterable[str]) -> dict[str, int]:
    """How often each word or phrase occurs in captions.

    >>> word_frequencies(["dog", "hot dog"], ["A hot dog.", "The dog."])
    {'dog': 2, 'hot dog': 1}
    """
    wanted = {word: " ".join(tokens(word)) for word in dict.fromkeys(words)}
    lengths = sorted({phrase.count(" ") + 1 for phrase in wanted.values()})
    seen: Counter[str] = Counter()
    phrases = set(wanted.values())
    for caption in captions:
        own = tokens(caption)
        for n in lengths:
            for k in range(len(own) - n + 1):
                phrase = " ".join(own[k : k + n])
                if phrase in phrases:
                    seen[phrase] += 1
    return {word: seen[phrase] for word, phrase in wanted.items()}


def similarities(pairs: Sequence[tuple[str, str]], path: Path) -> list[float | None]:
    """The cosine of two words' vectors (means, for phrases); None if either has no vector."""
    texts = list(dict.fromkeys(word for pair in pairs for word in pair))
    split = [tokens(word) for word in texts]
    vectors = read_vectors(path, {word for words in split for word in words})
    found = vectors.mean_vectors(split)
    rows = np.asarray(found.vectors, float)
    lengths = np.linalg.norm(rows, axis=1)
    if not lengths.any():
        raise BadInput(
            f"{path.name} has no vector for any target or foil", where=str(path),
            todo="give word vectors in the language of the captions",
        )  # fmt: skip
    at = {word: k for k, word in enumerate(texts)}
    cosines: list[float | None] = []
    for one, other in pairs:
        a, b = at[one], at[other]
        known = lengths[a] > 0 and lengths[b] > 0
        cosines.append(float(rows[a] @ rows[b] / (lengths[a] * lengths[b])) if known else None)
    return cosines


def with_word_facts(
    table: pl.DataFrame,
    names: Sequence[str],
    captions: Iterable[str],
    vectors: Path | None,
    frequencies: Path | None,
) -> pl.DataFrame:
    """The table with the word facts named; it needs the columns `target` and `foil`."""
    wanted = [name for name in names if name in WORD_FACTS and name not in table.columns]
    if not wanted:
        return table
    pairs = list(zip(table["target"], table["foil"], strict=True))
    known = [pair for pair in dict.fromkeys(pairs) if None not in pair]
    if not known:
        raise BadInput(
            f"the fact {wanted[0]} needs targets and foils, and no item has them",
            allowed="a benchmark of foils",
        )
    made = []
    if SIMILARITY in wanted:
        if vectors is None:
            raise BadInput("similarity needs word vectors", todo="name a file with --vectors FILE")
        near = dict(zip(known, similarities(known, vectors), strict=True))
        made.append(pl.Series(SIMILARITY, [near.get(pair) for pair in pairs], pl.Float64))
    if {TARGET, FOIL} & set(wanted):
        if frequencies is not None:
            captions = read_corpus(frequencies).captions["text"]
        count = word_frequencies((word for pair in known for word in pair), captions)
        for name, side in ((TARGET, 0), (FOIL, 1)):
            if name in wanted:
                values = [
                    None if p[side] is None else float(np.log10(1 + count[p[side]])) for p in pairs
                ]
                made.append(pl.Series(name, values, pl.Float64))
    return table.with_columns(made)
