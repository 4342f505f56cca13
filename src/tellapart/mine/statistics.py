"""Statistics of mined benchmarks, for the methods section of BISON and MCIC items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart import seeds
from tellapart.errors import TellapartError
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.image_pairs import CaptionedPair
from tellapart.mine.mcic.score import REASONS, ChosenDecoys
from tellapart.store.cache import default_folder
from tellapart.text.parse import parse
from tellapart.text.spacy_pipeline import DEFAULT, find_pipeline
from tellapart.text.table_text import aligned
from tellapart.text.tfidf import nearness_to_others
from tellapart.types import Ints32, Progress

LONGEST = 25
"""Captions of this many words or more are counted together."""
PARSED = 4_000
"""How many captions of the benchmark and of the corpus are parsed for parts of speech."""
TAGS = 8
"""How many parts of speech are printed; the card has all."""


# BISON: Hu et al. 2019, Table 1 and Figure 6


def bison_statistics(
    captions: MinedCaptions,
    asked: Sequence[CaptionedPair],
    parser: str,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Counts, lengths and parts of speech of the benchmark and of the corpus, for the card.

    `parser` is the spaCy pipeline, `auto` for the default one, or `none`.
    """
    places = {"benchmark": [one.caption for one in asked], "corpus": range(len(captions))}
    images = {image for one in asked for image in (one.pair.target, one.pair.decoy)}
    return {
        "benchmark": {"unique_images": len(images), **_counts(captions, places["benchmark"])},
        "corpus": {"unique_images": len(captions.images), **_counts(captions, places["corpus"])},
        "parts_of_speech": _parts_of_speech(captions, places, parser, seed, progress),
    }


def _counts(captions: MinedCaptions, places: Sequence[int]) -> dict[str, Any]:
    """The number of captions and of distinct ones, and the share of each length."""
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
    captions: MinedCaptions,
    places: Mapping[str, Sequence[int]],
    parser: str,
    seed: int,
    progress: Progress,
) -> dict[str, Any]:
    """Shares of parts of speech in a sample of captions, largest first, or why there are none.

    Punctuation and spaces do not count as words.
    """
    if parser == "none":
        return {"not_counted": "not requested"}
    model = DEFAULT if parser == "auto" else parser
    try:
        name = find_pipeline(model).name
    except TellapartError as reason:
        if parser != "auto":
            raise
        return {"not_counted": reason.what}
    if parser == "auto" and 2 * sum(map(str.isascii, captions.texts)) < len(captions):
        return {"not_counted": "the captions are not English: name a pipeline with --parser"}
    shares: dict[str, Any] = {"by": name, "most_captions": PARSED}
    for what, every in places.items():
        rng = seeds.rng(seed, "bison", "parts of speech", what)
        sample = rng.choice(len(every), size=min(PARSED, len(every)), replace=False)
        texts = [captions.texts[every[k]] for k in np.sort(sample).tolist()]
        columns = parse(texts, model=model, cache=default_folder(), progress=progress).columns
        tags = Counter([columns.poses[k] for k in columns.pos.tolist()])
        words = {tag: n for tag, n in tags.items() if tag not in ("PUNCT", "SPACE")}
        ordered = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))
        shares[what] = {tag: round(n / sum(words.values()), 4) for tag, n in ordered}
    return shares


def bison_table(statistics: Mapping[str, Any]) -> str:
    """The statistics of the card side by side: the benchmark, and its corpus."""
    both = [statistics["benchmark"], statistics["corpus"]]
    rows: list[tuple[str, ...]] = [("", "benchmark", "corpus")]
    for name in ("examples", "unique_images", "unique_captions"):
        rows.append((name.replace("_", " "), *(f"{one[name]:,}" for one in both)))
    rows.append(("words in a caption", *(f"{one['words_in_a_caption']:.2f}" for one in both)))
    parts = statistics["parts_of_speech"]
    if "benchmark" in parts:
        for tag in list(parts["benchmark"])[:TAGS]:
            shares = (parts[what].get(tag, 0.0) for what in ("benchmark", "corpus"))
            rows.append((tag, *(f"{share:.1%}" for share in shares)))
        return aligned(rows, {0})
    return f"{aligned(rows, {0})}\nparts of speech: not counted ({parts['not_counted']})"


# MCIC: Ding et al. 2016, Table 1, and what it leaves out


def mcic_statistics(
    captions: MinedCaptions,
    targets: Ints32,
    chosen: ChosenDecoys,
    rows: Sequence[int],
    number: int,
) -> dict[str, Any]:
    """Statistics of the items from some rows of the decoys, for the card.

    `number` captions could have become items. `left_out` counts those that did not: too few decoys,
    asked before, in no fair set. `central` is the share of items in which the option nearest to the
    others (mean cosine of tf-idf, ties halved) is the true one: the score of a guess from the text
    alone.
    """
    asked = np.asarray(rows, np.int64)
    options = np.column_stack([targets[asked], chosen.captions[asked]])
    lengths = np.array([len(words) for words in captions.words])
    used = np.unique(options).tolist()
    return {
        "instances": len(asked),
        "images": len(np.unique(captions.image_of[targets[asked]])),
        "left_out": number - len(asked),
        "items_per_caption": round(len(asked) / max(1, number), 4),
        "options": options.shape[1],
        "distinct_options": len({captions.texts[k] for k in used}),
        "vocabulary": len({word for k in used for word in captions.words[k]}),
        "words_in_targets": _mean(lengths[options[:, 0]]),
        "words_in_decoys": _mean(lengths[options[:, 1:]]),
        "score": _mean(chosen.scores[asked]),
        "bleu": _mean(chosen.bleus[asked]),
        "cosine": _mean(chosen.cosines[asked]),
        "central": central_share([captions.texts[k] for k in used], np.searchsorted(used, options)),
        "refused": dict(zip(REASONS, chosen.refused.sum(axis=0).tolist(), strict=True)),
    }


def _mean(values: Any) -> float:
    return round(float(values.mean()), 4) if values.size else 0.0


def central_share(texts: Sequence[str], options: npt.NDArray[np.integer]) -> float:
    """How often the first option is the one nearest to the others.

    `options` [items, k] are indices into `texts`. Decoys are near the target but not near each
    other, so this is far above 1 / k if decoys are chosen for each target separately.

    >>> central_share(["a dog", "a red dog", "a blue dog"], np.array([[0, 1, 2], [1, 0, 2]]))
    0.5
    """
    group = np.repeat(np.arange(len(options)), options.shape[1])
    near = nearness_to_others(texts, options.ravel(), group).reshape(options.shape)
    best = near == near.max(axis=1, keepdims=True)
    return round(float((best[:, 0] / best.sum(axis=1)).mean()), 4) if len(best) else 0.0


MCIC_LINES = {
    "instances": ("instances", "{:,}"),
    "images": ("images", "{:,}"),
    "left_out": ("captions left out", "{:,}"),
    "distinct_options": ("distinct options", "{:,}"),
    "vocabulary": ("vocabulary", "{:,}"),
    "words_in_targets": ("words in a target", "{:.2f}"),
    "words_in_decoys": ("words in a decoy", "{:.2f}"),
    "items_per_caption": ("items per caption", "{:.3f}"),
    "score": ("Score of a decoy", "{:.3f}"),
    "paper_score": ("Score of a decoy by the paper's method", "{:.3f}"),
    "bleu": ("BLEU of a decoy", "{:.3f}"),
    "cosine": ("cosine of a decoy", "{:.3f}"),
    "central": ("truth is the most central option", "{:.1%}"),
    "recall": ("recall of neighbours", "{:.1%}"),
    "true_captions_let_through": ("true captions that pass the guard", "{:.1%}"),
}


def mcic_table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Statistics of the card side by side, one column per part."""
    rows = [("", *parts)]
    for name, (title, form) in MCIC_LINES.items():
        if all(name in one for one in parts.values()):
            rows.append((title, *(form.format(one[name]) for one in parts.values())))
    return aligned(rows, {0})
