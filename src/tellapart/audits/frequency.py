"""Word frequency: are the words of the right captions more usual, or rarer, than the others'?"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from tellapart.audits.cues import Guesser
from tellapart.audits.sheet import FOLDS, Floats, Sheet
from tellapart.text.words import tokens


def mean_log_frequency(sheet: Sheet) -> Floats:
    """For each cell the mean log frequency of its words among the benchmark's own captions.

    Counted over distinct captions, right and wrong ones alike, without those that occur in the
    cell's own fold of groups: neither a caption nor its near misses count for themselves. Add-one
    smoothing; a text without words scores 0.
    """
    words = [tokens(text) for text in sheet.texts]
    plain = np.array([edit == "" for edit in sheet.edit], dtype=bool)
    everything = Counter(w for k in np.unique(sheet.text[plain]) for w in words[k])
    scores = np.zeros(len(sheet.text))
    for fold in range(FOLDS):
        here = sheet.fold == fold
        own = Counter(w for k in np.unique(sheet.text[plain & here]) for w in words[k])
        total = everything.total() - own.total() + len(everything) + 1
        logs = {w: math.log((n - own[w] + 1) / total) for w, n in everything.items()}
        unseen = -math.log(total)
        texts, inverse = np.unique(sheet.text[here], return_inverse=True)
        means = [sum(logs.get(w, unseen) for w in words[k]) / max(len(words[k]), 1) for k in texts]
        scores[here] = np.array(means)[inverse] if len(texts) else 0.0
    return scores


FREQUENCY = Guesser(
    "word frequency", "more frequent words", "rarer words", "caption", mean_log_frequency
)
