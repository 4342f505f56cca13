"""Text-only models: a number for a sentence, whatever the picture.

They show what can be guessed without looking: how likely, plausible or grammatical a caption is.
SugarCrepe was refined with Vera (plausibility) and a RoBERTa trained on CoLA (grammar) (Hsieh et
al. 2023, SugarCrepe; Miranda et al. 2024, BiVLC, appendix E.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tellapart.errors import BadInput
from tellapart.models.checkpoint import Checkpoint, fetch, loaded_info, weights_of
from tellapart.models.model import AnyFloats, Model, ModelInfo, NamedModel
from tellapart.models.names import canonical
from tellapart.pictures import Picture
from tellapart.types import Bools, Floats

LENGTH = 128
"""How many tokens of a text a classifier reads."""


@runtime_checkable
class TextScorer(Model, Protocol):
    """Scores sentences; higher is better."""

    def score_texts(self, texts: Sequence[str]) -> AnyFloats:
        """One score per text, shape (n,)."""
        ...


class TextOnly(NamedModel):
    """A text scorer as a pair scorer: pictures are never opened.

    The engine's cache identifies pairs by the bytes of their pictures, which may be missing, so
    `score.encoder.score_texts` caches scores of texts instead.
    """

    cacheable = False

    def score_texts(self, texts: Sequence[str]) -> AnyFloats:
        """One score per text."""
        raise NotImplementedError

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """The score of each text, whatever its picture."""
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        scores = self.score_texts(list(distinct))
        return np.asarray(scores)[[distinct[text] for text in texts]]


class CausalModel(TextOnly):
    """The mean log-probability of a sentence's tokens, without the end token.

    `reduce=sum` gives the log-probability of the whole sentence, which favours short ones.
    """

    def __init__(self, checkpoint: Checkpoint, info: ModelInfo, reduce: str) -> None:
        self._checkpoint, self._reduce = checkpoint, reduce
        self.model = weights_of("AutoModelForCausalLM", checkpoint)
        self.tokenizer = fetch("AutoTokenizer", checkpoint)
        self._begin = _begin(self.tokenizer, checkpoint.name)
        self._length = int(getattr(self.model.config, "max_position_embeddings", 1024)) - 1
        how = [self._begin, self._length]
        self.facts = loaded_info(info, checkpoint, self.model, self.tokenizer, how)

    def score_texts(self, texts: Sequence[str]) -> AnyFloats:
        """One log-probability per text."""
        if not texts:
            return np.empty(0)
        logs, counted = self.token_logs(texts)
        sums: Floats = (logs * counted).sum(axis=1)
        return sums / np.maximum(counted.sum(axis=1), 1) if self._reduce == "mean" else sums

    def token_logs(self, texts: Sequence[str]) -> tuple[Floats, Bools]:
        """The log-probability of each token, one row per text, and which columns are real."""
        import torch

        read = [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
        ids = [[self._begin, *row[: self._length]] for row in read]
        width = max(map(len, ids))
        device = self._checkpoint.device
        tokens = torch.tensor([row + [self._begin] * (width - len(row)) for row in ids])
        there = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        with torch.inference_mode():
            seen = self.model(input_ids=tokens.to(device), attention_mask=there.to(device))
            logits = seen.logits[:, :-1].float()
            chosen = logits.gather(-1, tokens[:, 1:, None].to(device))[..., 0]
            each = (chosen - logits.logsumexp(-1)).double().cpu()
        return each.numpy(), there[:, 1:].bool().numpy()


def _begin(tokenizer: Any, name: str) -> int:
    """The token before a text, without which its first token could not be scored."""
    marks = (tokenizer.bos_token_id, tokenizer.eos_token_id)
    mark = next((mark for mark in marks if mark is not None), None)
    if mark is None:
        raise BadInput(
            f"the tokenizer of {name!r} has neither a begin nor an end token",
            allowed="a causal language model with its own tokenizer",
        )
    return int(mark)


class _Classifier(TextOnly):
    """The base of classifiers: tokens in, one probability out."""

    def __init__(self, kind: str, checkpoint: Checkpoint, info: ModelInfo) -> None:
        self._checkpoint = checkpoint
        self.model = weights_of(kind, checkpoint)
        self.tokenizer = fetch("AutoTokenizer", checkpoint)
        self.facts = loaded_info(info, checkpoint, self.model, self.tokenizer, [LENGTH])

    def score_texts(self, texts: Sequence[str]) -> AnyFloats:
        """One probability per text, in float64, because float32 would tie near 1."""
        import torch

        if not texts:
            return np.empty(0)
        read = self.tokenizer(
            list(texts), padding=True, truncation=True, max_length=LENGTH, return_tensors="pt"
        ).to(self._checkpoint.device)
        with torch.inference_mode():
            scores: Floats = self._probability(read).cpu().numpy()
        return scores

    def _probability(self, read: Any) -> Any:
        raise NotImplementedError


class TextClassifier(_Classifier):
    """The probability that a classifier of sentences gives to one of its labels."""

    def __init__(self, checkpoint: Checkpoint, info: ModelInfo, label: str) -> None:
        super().__init__("AutoModelForSequenceClassification", checkpoint, info)
        self._label = _place(self.model.config, label, checkpoint.name)

    def _probability(self, read: Any) -> Any:
        logits = self.model(**read).logits.double()
        if logits.shape[-1] == 1:
            return logits[:, 0].sigmoid()
        return logits.softmax(-1)[:, self._label]


def _place(config: Any, label: str, name: str) -> int:
    """The index of a label; without a name, the second of two."""
    labels = {str(config.id2label[k]): k for k in sorted(config.id2label)}
    if not label and len(labels) <= 2:
        return len(labels) - 1
    if label not in labels:
        raise BadInput(
            f"{name!r} has no label {label!r}" if label else f"{name!r} has {len(labels)} labels",
            allowed=", ".join(labels),
            todo=f"name the good label: hf:{name}?head=classifier&label={next(iter(labels))}",
        )
    return int(labels[label])


class Vera(_Classifier):
    """How plausible a statement is, calibrated between 0 and 1 (Liu et al. 2023, Vera).

    A T5 encoder whose last tokens' embeddings hold the head: weights, bias and temperature.
    """

    def __init__(self, checkpoint: Checkpoint, info: ModelInfo) -> None:
        super().__init__("T5EncoderModel", checkpoint, info)
        shared = self.model.shared.weight.detach().double()
        self._weight, self._bias = shared[32099], shared[32098, 0]
        self._temperature = shared[32097, 0]

    def _probability(self, read: Any) -> Any:
        import torch

        hidden = self.model(**read).last_hidden_state.double()
        last = read["attention_mask"].sum(1) - 1  # the end token
        ends = hidden[torch.arange(len(last), device=hidden.device), last]
        return ((ends @ self._weight + self._bias) / self._temperature).sigmoid()


def vera(
    name: str = "liujch1998/vera", dtype: str = "float32", device: str = "auto", revision: str = ""
) -> Vera:
    """How plausible is a caption, without the picture? Vera, SugarCrepe's first text-only model."""
    return Vera(*_checkpoint_and_info("vera", name, dtype, device, revision))


def cola(
    name: str = "textattack/roberta-base-CoLA",
    dtype: str = "float32",
    device: str = "auto",
    revision: str = "",
) -> TextClassifier:
    """How grammatical is a caption? RoBERTa on CoLA, SugarCrepe's second text-only model."""
    return TextClassifier(*_checkpoint_and_info("cola", name, dtype, device, revision), "")


def _checkpoint_and_info(
    scheme: str, name: str, dtype: str, device: str, revision: str
) -> tuple[Checkpoint, ModelInfo]:
    options = {"name": name, "dtype": dtype, "device": device, "revision": revision}
    checkpoint = Checkpoint.of(name, dtype, device, revision)
    return checkpoint, ModelInfo(canonical(scheme, options), options)
