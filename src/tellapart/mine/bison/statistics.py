"""The benchmark in numbers beside its corpus: Hu et al. 2019, Table 1 and Figure 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.errors import TellapartError
from tellapart.mine.bison.choosing import Asked
from tellapart.mine.building import BuildOptions
from tellapart.mine.captions import Captions
from tellapart.store.cache import default_folder
from tellapart.text.parse import parse
from tellapart.text.spacy_pipeline import DEFAULT, find_pipeline
from tellapart.text.table_text import aligned

LONGEST = 25
"""Captions of this many words or more are counted together."""
PARSED = 4_000
"""Captions whose parts of speech are counted, of the benchmark and of the corpus each."""

TAGS = 8
"""Parts of speech that are printed; the card has all."""


def statistics(
    captions: Captions, asked: Sequence[Asked], parser: str, options: BuildOptions
) -> dict[str, Any]:
    """Counts, lengths and parts of speech of the benchmark and of the corpus, for the card.

    `parser` is the spaCy pipeline, `auto` for the default one, or `none`.
    """
    places = {"benchmark": [one.caption for one in asked], "corpus": range(len(captions))}
    images = {image for one in asked for image in (one.pair.target, one.pair.decoy)}
    return {
        "benchmark": {"unique_images": len(images), **_counts(captions, places["benchmark"])},
        "corpus": {"unique_images": len(captions.images), **_counts(captions, places["corpus"])},
        "parts_of_speech": _parts_of_speech(captions, places, parser, options),
    }


def _counts(captions: Captions, places: Sequence[int]) -> dict[str, Any]:
    """How many captions, how many distinct ones, and the share of captions of each length."""
    lengths = np.array([len(captions.words[place]) for place in places])
    counted = Counter(np.minimum(lengths, LONGEST).tolist())
    return {
        "examples": len(places),
        "unique_captions": len({" ".join(captions.texts[place].split()) for place in places}),
        "words_in_a_caption": round(float(lengths.mean()), 2),
        "lengths": {
            f"{words}{'+' * (words == LONGEST)}": round(counted[words] / len(places), 4)
            for words in sorted(counted)
        },
    }


def _parts_of_speech(
    captions: Captions, places: Mapping[str, Sequence[int]], parser: str, options: BuildOptions
) -> dict[str, Any]:
    """Shares of parts of speech, in a sample of the captions of each; or why they are not there."""
    if parser == "none":
        return {"not_counted": "not asked for"}
    model = DEFAULT if parser == "auto" else parser
    try:
        name = find_pipeline(model).name
    except TellapartError as reason:
        if parser != "auto":
            raise
        return {"not_counted": reason.what}
    if parser == "auto" and 2 * sum(map(str.isascii, captions.texts)) < len(captions):
        return {"not_counted": "the captions are not English: name a pipeline with --parser"}
    counted: dict[str, Any] = {"by": name, "at_most_so_many_captions": PARSED}
    for what, every in places.items():
        rng = seeds.rng(options.seed, "bison", "parts of speech", what)
        sample = rng.choice(len(every), size=min(PARSED, len(every)), replace=False)
        chosen = [captions.texts[every[k]] for k in np.sort(sample).tolist()]
        parsed = parse(chosen, model=model, cache=default_folder(), progress=options.progress)
        counts = np.bincount(parsed.columns.pos, minlength=len(parsed.columns.poses))
        counted[what] = _shares(dict(zip(parsed.columns.poses, counts.tolist(), strict=True)))
    return counted


def _shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Shares of all words, the largest first; marks and spaces are no words."""
    words = {tag: n for tag, n in counts.items() if tag not in ("PUNCT", "SPACE") and n}
    total = sum(words.values())
    ordered = sorted(words.items(), key=lambda one: (-one[1], one[0]))
    return {tag: round(n / total, 4) for tag, n in ordered}


def table(told: Mapping[str, Any]) -> str:
    """The statistics side by side, as they are in the card."""
    both = [told["benchmark"], told["corpus"]]
    rows: list[tuple[str, ...]] = [("", "benchmark", "corpus")]
    for name in ("examples", "unique_images", "unique_captions"):
        rows.append((name.replace("_", " "), *(f"{one[name]:,}" for one in both)))
    rows.append(("words in a caption", *(f"{one['words_in_a_caption']:.2f}" for one in both)))
    parts = told["parts_of_speech"]
    if "benchmark" in parts:
        for tag in list(parts["benchmark"])[:TAGS]:
            shares = (parts[what].get(tag, 0.0) for what in ("benchmark", "corpus"))
            rows.append((tag, *(f"{share:.1%}" for share in shares)))
        return aligned(rows, {0})
    return f"{aligned(rows, {0})}\nparts of speech: not counted ({parts['not_counted']})"
