"""What a methods section needs: the paper's Table 1 and more, and what text alone gives away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tellapart.mine.captions import Captions, Ints
from tellapart.mine.mcic.score import REASONS, Chosen
from tellapart.text.table_text import aligned
from tellapart.text.tfidf import nearness_to_others


@dataclass(frozen=True, slots=True)
class Statistics:
    """One part of the benchmark in numbers (Ding et al. 2016, Table 1, and what it leaves out).

    `left_out` are captions that became no item: too few decoys, or asked already. `central` is the
    share of items in which the option that is nearest to the others (mean cosine of tf-idf, ties
    halved) is the true one: what a guess from the text alone gets.
    """

    instances: int
    images: int
    left_out: int
    options: int
    distinct_options: int
    vocabulary: int
    words_in_targets: float
    words_in_decoys: float
    score: float
    bleu: float
    cosine: float
    central: float
    refused: Mapping[str, int]

    def to_json(self) -> dict[str, Any]:
        """For the card."""
        return {**asdict(self), "refused": dict(self.refused)}


def statistics(
    captions: Captions, targets: Ints, chosen: Chosen, rows: Sequence[int]
) -> Statistics:
    """Of the items that came from some rows of the decoys."""
    asked = np.asarray(rows, np.int64)
    options = np.column_stack([targets[asked], chosen.captions[asked]])
    lengths = np.array([len(words) for words in captions.words])
    used = np.unique(options).tolist()
    return Statistics(
        instances=len(asked),
        images=len(np.unique(captions.image_of[targets[asked]])),
        left_out=len(targets) - len(asked),
        options=options.shape[1],
        distinct_options=len({captions.texts[k] for k in used}),
        vocabulary=len({word for k in used for word in captions.words[k]}),
        words_in_targets=_mean(lengths[options[:, 0]]),
        words_in_decoys=_mean(lengths[options[:, 1:]]),
        score=_mean(chosen.scores[asked]),
        bleu=_mean(chosen.bleus[asked]),
        cosine=_mean(chosen.cosines[asked]),
        central=central_share([captions.texts[k] for k in used], np.searchsorted(used, options)),
        refused=dict(zip(REASONS, chosen.refused.sum(axis=0).tolist(), strict=True)),
    )


def _mean(values: Any) -> float:
    return round(float(values.mean()), 4) if values.size else 0.0


def central_share(texts: Sequence[str], options: npt.NDArray[np.integer]) -> float:
    """How often the first of some options is the one that is nearest to the others.

    `options` [items, k] are places in `texts`. Decoys are near the target and not to each other, so
    that this is far above 1 / k where decoys are chosen for each target by itself.

    >>> central_share(["a dog", "a red dog", "a blue dog"], np.array([[0, 1, 2], [1, 0, 2]]))
    0.5
    """
    group = np.repeat(np.arange(len(options)), options.shape[1])
    near = nearness_to_others(texts, options.ravel(), group).reshape(options.shape)
    best = near == near.max(axis=1, keepdims=True)
    return round(float((best[:, 0] / best.sum(axis=1)).mean()), 4) if len(best) else 0.0


LINES = {
    "instances": "{:,}",
    "images": "{:,}",
    "left_out": "{:,}",
    "distinct_options": "{:,}",
    "vocabulary": "{:,}",
    "words_in_targets": "{:.2f}",
    "words_in_decoys": "{:.2f}",
    "score": "{:.3f}",
    "bleu": "{:.3f}",
    "cosine": "{:.3f}",
    "central": "{:.1%}",
    "recall": "{:.1%}",
    "true_captions_let_through": "{:.1%}",
}
TITLES = {
    "left_out": "captions left out",
    "distinct_options": "distinct options",
    "words_in_targets": "words in a target",
    "words_in_decoys": "words in a decoy",
    "score": "Score of a decoy",
    "bleu": "BLEU of a decoy",
    "cosine": "cosine of a decoy",
    "central": "truth is the most central option",
    "recall": "recall of neighbours",
    "true_captions_let_through": "true captions that pass the guard",
}


def table(parts: Mapping[str, Mapping[str, Any]]) -> str:
    """Statistics side by side, a column for each part (as they are in the card)."""
    rows = [("", *parts)]
    for name, form in LINES.items():
        rows.append((TITLES.get(name, name), *(form.format(one[name]) for one in parts.values())))
    return aligned(rows, {0})
