"""Language models as guessers: is the right caption simply the likelier sentence?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from tellapart.audits.cues import Guesser
from tellapart.audits.sheet import Floats, Sheet
from tellapart.errors import TellapartError
from tellapart.models.blind import Blind
from tellapart.score.engine import Settings, run_model

BATCH = 32
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
        lambda sheet: _mean_log_probabilities(name, sheet.texts, progress)[sheet.text],
    )


def _mean_log_probabilities(name: str, texts: tuple[str, ...], progress: Progress) -> Floats:
    try:
        torch: Any = import_module("torch")
        transformers: Any = import_module("transformers")
    except ImportError as error:
        raise TellapartError(
            f"the language model {name!r} needs a package that is not installed: {error.name}",
            todo="install torch and transformers, or audit without --lm",
        ) from None
    try:
        tokenizer: Any = transformers.AutoTokenizer.from_pretrained(name)
        model: Any = transformers.AutoModelForCausalLM.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise TellapartError(
            f"the language model {name!r} cannot be loaded: {str(error).splitlines()[0]}",
            allowed="a folder with a causal language model, or its name on the Hugging Face hub",
        ) from None
    model.eval()
    begin = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    scores = np.zeros(len(texts))
    by_length = sorted(range(len(texts)), key=lambda k: len(texts[k]))
    for start in range(0, len(texts), BATCH):
        chunk = by_length[start : start + BATCH]
        ids = [[begin, *tokenizer(texts[k], add_special_tokens=False)["input_ids"]] for k in chunk]
        width = max(map(len, ids))
        padded = torch.tensor([row + [begin] * (width - len(row)) for row in ids])
        there = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        with torch.inference_mode():
            logits = model(input_ids=padded, attention_mask=there).logits.float()
        logs = logits[:, :-1].log_softmax(-1).gather(-1, padded[:, 1:, None])[..., 0]
        counts = there[:, 1:].sum(1).clamp(min=1)
        scores[chunk] = ((logs * there[:, 1:]).sum(1) / counts).numpy()
        progress(min(start + BATCH, len(texts)), len(texts))
    return scores
