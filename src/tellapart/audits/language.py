"""Language models as guessers: is the right caption simply the likelier sentence?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tellapart.audits.cues import Guesser
from tellapart.audits.sheet import Floats, Sheet
from tellapart.errors import TellapartError
from tellapart.models.blind import Blind
from tellapart.models.names import load
from tellapart.score.engine import Settings, run_model
from tellapart.score.texts import score_texts

Progress = Callable[[int, int], None]


def ngram_guesser() -> Guesser:
    """The built-in model `blind`: n-grams of the benchmark's own captions, cross-fitted."""

    def scores(sheet: Sheet) -> Floats:
        items = replace(sheet.benchmark, items=sheet.items)
        run = run_model(Blind(), items, Settings(sheet.asks), lambda done, total: None)
        return run.scores["score"].to_numpy()  # the engine's order is the sheet's

    return Guesser("n-gram model", "likelier words (n-grams)", "less likely words (n-grams)",
                   "caption", scores)  # fmt: skip


def lm_guesser(name: str, progress: Progress = lambda done, total: None) -> Guesser:
    """A causal language model by transformers: mean log-probability of a caption's tokens."""
    return Guesser(
        f"language model {name}",
        f"likelier ({name})",
        f"less likely ({name})",
        "caption",
        lambda sheet: _mean_log_probabilities(name, sheet, progress),
    )


def _mean_log_probabilities(name: str, sheet: Sheet, progress: Progress) -> Floats:
    try:
        model = load(f"hf:{name}?head=lm")
    except TellapartError as error:
        error.todo = (error.todo + "; " if error.todo else "") + "or audit without --lm"
        raise
    return score_texts(model, sheet.texts, progress=progress)[sheet.text]
