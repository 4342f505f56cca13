"""Guessers: each scores captions by one cue and never compares an image with a caption.

`TEXT_GUESSERS` need nothing but the captions; the audit and `guessable` share them. The audit adds
language models, fixed positions and pictures (`image_guessers.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tellapart.attack.choices import CAPTIONS
from tellapart.audits.regression import crossfitted, option_pairs
from tellapart.audits.sheet import FOLDS, GuessSheet
from tellapart.errors import TellapartError
from tellapart.models.baselines import Blind
from tellapart.models.names import load
from tellapart.score.encoder import score_texts
from tellapart.score.engine import Settings, run_model
from tellapart.text.tfidf import nearness_to_others
from tellapart.text.tokens import tokens
from tellapart.types import Floats, Progress, silent

Sees = Literal["caption", "image", "place", "both"]


@dataclass(frozen=True)
class Guesser:
    """Scores cells without comparing image and caption; the highest score is chosen.

    `name` says which option is chosen, `reverse` which one if the scores are negated ("" if that
    makes no sense); guessers of one `family` use the same cue in different ways. `sees` says what
    the guesser looks at; "both" is an image and a caption, each by itself. `applies` says whether
    the cells offer anything to guess from.
    """

    family: str
    name: str
    reverse: str
    sees: Sees
    scores: Callable[[GuessSheet], Floats]
    applies: Callable[[GuessSheet], bool] = lambda _: True


# Cues from form: one number for each caption.


def characters(text: str) -> float:
    """Length in characters as stored (leading and trailing blanks count)."""
    return len(text)


def words(text: str) -> float:
    """Length in words, split at white space."""
    return len(text.split())


def final_stop(text: str) -> float:
    """1 if the last character is a full stop (white space aside).

    >>> final_stop("A dog. "), final_stop("A dog")
    (True, False)
    """
    return text.rstrip().endswith(".")


def stop_then_characters(text: str) -> float:
    """The final stop, with ties broken by length in characters.

    >>> stop_then_characters("A dog.") > stop_then_characters("A much longer caption of a dog")
    True
    """
    return 1e6 * final_stop(text) + characters(text)


def capital_first(text: str) -> float:
    """1 if the first letter is a capital."""
    return next((letter.isupper() for letter in text if letter.isalpha()), False)


def any_capital(text: str) -> float:
    """1 unless all letters are lower case."""
    return text != text.lower()


def edge_space(text: str) -> float:
    """1 if the caption starts or ends with white space."""
    return text != text.strip()


FORM_CUES: tuple[tuple[str, str, str, Callable[[str], float]], ...] = (
    ("characters", "fewer characters", "more characters", characters),
    ("words", "fewer words", "more words", words),
    ("final stop", "without a final stop", "with a final stop", final_stop),
    (
        "final stop, then characters",
        "without a final stop, else fewer characters",
        "with a final stop, else more characters",
        stop_then_characters,
    ),
    ("first letter", "starts with a small letter", "starts with a capital", capital_first),
    ("capitals", "all letters small", "with a capital somewhere", any_capital),
    ("white space", "no white space at its ends", "white space at its ends", edge_space),
)
"""Family, name if low numbers win, name if high numbers win, and the number."""


def _form_guesser(family: str, low: str, high: str, cue: Callable[[str], float]) -> Guesser:
    return Guesser(family, low, high, "caption", lambda sheet: -sheet.by_text(cue))


# Cues that need all captions: frequency, the most central option, all cues together.


def mean_log_frequency(sheet: GuessSheet) -> Floats:
    """For each cell, the mean log frequency of its words among the benchmark's own captions.

    Counts are over distinct captions, right or wrong, except those in the cell's own fold of
    groups, so that neither a caption nor its near misses count themselves. Add-one smoothing; a
    text without words scores 0.
    """
    words = [tokens(text) for text in sheet.texts]
    everything = Counter(w for k in np.unique(sheet.text[sheet.unedited]) for w in words[k])
    scores = np.zeros(len(sheet.text))
    for fold in range(FOLDS):
        here = sheet.fold == fold
        own = Counter(w for k in np.unique(sheet.text[sheet.unedited & here]) for w in words[k])
        total = everything.total() - own.total() + len(everything) + 1
        logs = {w: math.log((n - own[w] + 1) / total) for w, n in everything.items()}
        unseen = -math.log(total)
        texts, inverse = np.unique(sheet.text[here], return_inverse=True)
        means = [sum(logs.get(w, unseen) for w in words[k]) / max(len(words[k]), 1) for k in texts]
        scores[here] = np.array(means)[inverse] if len(texts) else 0.0
    return scores


def nearness(sheet: GuessSheet) -> Floats:
    """For each cell, the mean cosine (tf-idf) of its caption with the item's other captions.

    With two captions, both get the same score. Captions with an edit score 0.
    """
    scores = np.zeros(len(sheet.text))
    plain = sheet.unedited
    if plain.any():
        grid = (
            sheet.cells.item[plain] * (int(sheet.cells.image.max()) + 1) + sheet.cells.image[plain]
        )
        _, group = np.unique(grid, return_inverse=True)
        scores[plain] = nearness_to_others(sheet.texts, sheet.text[plain], group)
    return scores


def text_scores(sheet: GuessSheet) -> Floats:
    """Scores of captions by a regression on form and word frequency together."""
    single = [sheet.by_text(cue) for name, *_, cue in FORM_CUES if ", then" not in name]
    features = np.stack([*single, mean_log_frequency(sheet)], axis=1)
    return crossfitted(features, option_pairs(sheet, CAPTIONS), sheet.fold)


FREQUENCY = Guesser(
    "word frequency", "more frequent words", "rarer words", "caption", mean_log_frequency
)
# Decoys chosen for their nearness to the true caption are not near each other, so the true caption
# is the most central option.
CENTRAL = Guesser(
    "middle of the options", "nearest to the other options", "farthest from the other options",
    "caption", nearness, lambda sheet: bool((sheet.items.shape[1] > 2).any()),
)  # fmt: skip
TOGETHER = Guesser(
    "all text cues together", "all text cues together (logistic regression)", "", "caption",
    text_scores, lambda sheet: len(option_pairs(sheet, CAPTIONS)) > 0,
)  # fmt: skip

TEXT_GUESSERS = (*(_form_guesser(*cue) for cue in FORM_CUES), FREQUENCY, CENTRAL, TOGETHER)
"""Every guesser that reads captions and needs no language model."""


def text_guessers(sheet: GuessSheet) -> list[Guesser]:
    """Those of `TEXT_GUESSERS` that have something to guess from."""
    return [guesser for guesser in TEXT_GUESSERS if guesser.applies(sheet)]


# Language models: is the right caption simply the likelier sentence?


def _ngram_scores(sheet: GuessSheet) -> Floats:
    items = replace(sheet.benchmark, items=sheet.items)
    run = run_model(Blind(), items, Settings(sheet.cells.asks))
    return run.scores["score"].to_numpy()  # the engine's order is the sheet's


NGRAMS = Guesser(
    "n-gram model", "likelier words (n-grams)", "less likely words (n-grams)", "caption",
    _ngram_scores,
)  # fmt: skip
"""The built-in model `blind`: n-grams of the benchmark's own captions, cross-fitted."""


def lm_guesser(name: str, progress: Progress = silent) -> Guesser:
    """A causal language model by transformers: mean log-probability of a caption's tokens."""

    def scores(sheet: GuessSheet) -> Floats:
        try:
            model = load(f"hf:{name}?head=lm")
        except TellapartError as error:
            error.todo = (error.todo + "; " if error.todo else "") + "or audit without --lm"
            raise
        watch = lambda _, done, total: progress(name, done, total)  # noqa: E731
        return score_texts(model, sheet.texts, progress=watch)[sheet.text]

    likelier, less_likely = f"likelier ({name})", f"less likely ({name})"
    return Guesser(f"language model {name}", likelier, less_likely, "caption", scores)


# Positions: always the same option, in stored order.


def place_guessers(sheet: GuessSheet) -> dict[str, list[Guesser]]:
    """Guessers that always choose one position, by family; only if there are several positions."""
    sizes = {"caption": sheet.items.shape[1].max(), "image": sheet.items.shape[0].max()}
    return {
        f"place of the {side}": [_always_at(side, place) for place in range(size)]
        for side, size in sizes.items()
        if size > 1
    }


def _always_at(side: str, place: int) -> Guesser:
    def scores(sheet: GuessSheet) -> Floats:
        places = sheet.cells.caption if side == "caption" else sheet.cells.image
        return np.where(places == place, 1.0, 0.0)

    return Guesser(f"place of the {side}", f"the {side} at place {place}", "", "place", scores)
