"""Guessers: each scores captions by one cue and never compares an image with a caption.

`TEXT_GUESSERS` are the ones that need nothing but the captions; the audit and `guessable` use the
same. The audit adds language models, fixed places and (`image_guessers.py`) the pictures.
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
    """Scores cells without comparing image and caption; higher means "I take this one".

    `name` says what is taken, `reverse` what is taken if the scores are negated ("" where
    that makes no sense); guessers of one `family` are ways of using one cue. `sees` tells what it
    looks at; "both" is an image and a caption, each by itself. `applies` says whether there is
    anything to guess from on some cells.
    """

    family: str
    name: str
    reverse: str
    sees: Sees
    scores: Callable[[GuessSheet], Floats]
    applies: Callable[[GuessSheet], bool] = lambda _: True


# Cues of form: one number for each caption.


def characters(text: str) -> float:
    """Length in characters, as the caption is stored (blanks at its ends count)."""
    return len(text)


def words(text: str) -> float:
    """Length in words, split at white space."""
    return len(text.split())


def final_stop(text: str) -> float:
    """1 if the last mark is a full stop.

    >>> final_stop("A dog. "), final_stop("A dog")
    (True, False)
    """
    return text.rstrip().endswith(".")


def stop_then_characters(text: str) -> float:
    """The final stop first, length in characters where that does not decide.

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
    """1 if there is white space before or behind the caption."""
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
"""Family, what is taken if the number is low, what if it is high, and the number."""


def _form_guesser(family: str, low: str, high: str, cue: Callable[[str], float]) -> Guesser:
    return Guesser(family, low, high, "caption", lambda sheet: -sheet.by_text(cue))


# Cues that need all captions: frequency, the middle of the options, all cues together.


def mean_log_frequency(sheet: GuessSheet) -> Floats:
    """For each cell the mean log frequency of its words among the benchmark's own captions.

    Counted over distinct captions, right and wrong ones alike, without those that occur in the
    cell's own fold of groups: neither a caption nor its near misses count for themselves. Add-one
    smoothing; a text without words scores 0.
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
    """For each cell the mean cosine (tf-idf) of its caption with the item's other captions.

    Of two captions each is as near to the other. Captions with an edit score 0.
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
    """Captions by the cues of form and word frequency together, by a regression."""
    single = [sheet.by_text(cue) for name, *_, cue in FORM_CUES if ", then" not in name]
    features = np.stack([*single, mean_log_frequency(sheet)], axis=1)
    return crossfitted(features, option_pairs(sheet, CAPTIONS), sheet.fold)


FREQUENCY = Guesser(
    "word frequency", "more frequent words", "rarer words", "caption", mean_log_frequency
)
# Decoys that were chosen for being near a caption are near it alone, so that it is in their middle.
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


# Places: always the same option, in the order in which the items store them.


def place_guessers(sheet: GuessSheet) -> dict[str, list[Guesser]]:
    """Always the option at one place, by family; only where there are several places."""
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
