"""Causal language models of transformers: how likely is a sentence?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.models.hf.loading import Wanted, described, fetch, weights_of
from tellapart.models.language.model import TextOnly
from tellapart.models.model import Facts, Floats
from tellapart.models.torch_tools import chunks, fingerprint, put_back

BATCH = 32


class CausalModel(TextOnly):
    """The mean log-probability of a sentence's tokens; the mark of its end is not counted.

    `reduce=sum` takes the log-probability of the whole sentence, which favours short ones.
    """

    def __init__(self, transformers: Any, wanted: Wanted, facts: Facts, reduce: str) -> None:
        self._wanted, self._reduce = wanted, reduce
        self.model = weights_of(transformers.AutoModelForCausalLM, wanted)
        self.tokenizer = fetch(transformers.AutoTokenizer.from_pretrained, wanted)
        self._begin = _begin(self.tokenizer, wanted.name)
        self._length = int(getattr(self.model.config, "max_position_embeddings", 1024)) - 1
        self.facts = Facts(
            facts.name,
            facts.options,
            weights=fingerprint(self.model),
            preprocessing=described(self.tokenizer, [self._begin, self._length]),
            dtype=wanted.dtype,
        )

    def score_texts(self, texts: Sequence[str]) -> Floats:
        """One log-probability a text; texts of like length go through the model together."""
        ids = [self._tokens(text) for text in texts]
        order = sorted(range(len(ids)), key=lambda k: (len(ids[k]), texts[k]))
        parts = [self._scores([ids[order[k]] for k in part]) for part in chunks(len(ids), BATCH)]
        return put_back(parts, order) if parts else np.empty(0)

    def _tokens(self, text: str) -> list[int]:
        read: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return [self._begin, *read[: self._length]]

    def _scores(self, ids: list[list[int]]) -> Floats:
        import torch

        width = max(map(len, ids))
        device = self._wanted.device
        tokens = torch.tensor([row + [self._begin] * (width - len(row)) for row in ids])
        there = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        with torch.inference_mode():
            seen = self.model(input_ids=tokens.to(device), attention_mask=there.to(device))
            logits = seen.logits[:, :-1].float()
            chosen = logits.gather(-1, tokens[:, 1:, None].to(device))[..., 0]
            each = (chosen - logits.logsumexp(-1)).double().cpu()
        counted = there[:, 1:]
        sums = (each * counted).sum(1)
        return np.asarray(sums / counted.sum(1).clamp(min=1) if self._reduce == "mean" else sums)


def _begin(tokenizer: Any, name: str) -> int:
    """The token that stands before a text: without one its first token could not be judged."""
    marks = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    found = next((mark for mark in marks if mark is not None), None)
    if found is None:
        raise BadInput(
            f"the tokenizer of {name!r} has neither a mark of the beginning nor of the end",
            allowed="a causal language model with its own tokenizer",
        )
    return int(found)
