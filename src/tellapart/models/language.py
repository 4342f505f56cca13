"""Text-only models: a number for a sentence, whatever the picture.

They say what can be guessed without looking: how likely, plausible or grammatical a caption is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tellapart.errors import BadInput
from tellapart.models.checkpoint import Wanted, described, fetch, transformers_library, weights_of
from tellapart.models.model import Floats, ModelInfo
from tellapart.models.names import canonical
from tellapart.models.torch_tools import chunks, device_of, dtype_of, fingerprint, put_back
from tellapart.pictures import Picture


@runtime_checkable
class TextScorer(Protocol):
    """Scores sentences; higher is better."""

    @property
    def facts(self) -> ModelInfo:
        """Name in full and fingerprints."""
        ...

    def score_texts(self, texts: Sequence[str]) -> Floats:
        """One score a text, shape (n,)."""
        ...


class TextOnly:
    """Makes a pair scorer of a text scorer: pictures are never opened.

    The engine's cache knows pairs by the bytes of their pictures, which need not be here: scores
    of texts are kept by `score.texts.score_texts` instead.
    """

    cacheable = False

    def score_texts(self, texts: Sequence[str]) -> Floats:
        """One score a text."""
        raise NotImplementedError

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """The score of each text, whatever it is paired with."""
        distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        scores = self.score_texts(list(distinct))
        return np.asarray(scores)[[distinct[text] for text in texts]]


BATCH = 32


class CausalModel(TextOnly):
    """The mean log-probability of a sentence's tokens; the mark of its end is not counted.

    `reduce=sum` takes the log-probability of the whole sentence, which favours short ones.
    """

    def __init__(self, transformers: Any, wanted: Wanted, facts: ModelInfo, reduce: str) -> None:
        self._wanted, self._reduce = wanted, reduce
        self.model = weights_of(transformers.AutoModelForCausalLM, wanted)
        self.tokenizer = fetch(transformers.AutoTokenizer.from_pretrained, wanted)
        self._begin = _begin(self.tokenizer, wanted.name)
        self._length = int(getattr(self.model.config, "max_position_embeddings", 1024)) - 1
        self.facts = ModelInfo(
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


BATCH, LENGTH = 32, 128


class _Classifier(TextOnly):
    """What classifiers share: tokens in, one probability out."""

    def __init__(self, transformers: Any, kind: Any, wanted: Wanted, facts: ModelInfo) -> None:
        self._wanted = wanted
        self.model = weights_of(kind, wanted)
        self.tokenizer = fetch(transformers.AutoTokenizer.from_pretrained, wanted)
        self.facts = ModelInfo(
            facts.name,
            facts.options,
            weights=fingerprint(self.model),
            preprocessing=described(self.tokenizer, [LENGTH]),
            dtype=wanted.dtype,
        )

    def score_texts(self, texts: Sequence[str]) -> Floats:
        """One probability a text, in float64: near 1 float32 would make ties."""
        import torch

        scores = np.empty(len(texts))
        order = sorted(range(len(texts)), key=lambda k: (len(texts[k]), texts[k]))
        for part in chunks(len(texts), BATCH):
            places = [order[k] for k in part]
            read = self.tokenizer(
                [texts[k] for k in places],
                padding=True, truncation=True, max_length=LENGTH, return_tensors="pt",
            ).to(self._wanted.device)  # fmt: skip
            with torch.inference_mode():
                scores[places] = self._probability(read).cpu().numpy()
        return scores

    def _probability(self, read: Any) -> Any:
        raise NotImplementedError


class TextClassifier(_Classifier):
    """The probability that a classifier of sentences gives to one of its labels."""

    def __init__(self, transformers: Any, wanted: Wanted, facts: ModelInfo, label: str) -> None:
        super().__init__(
            transformers, transformers.AutoModelForSequenceClassification, wanted, facts
        )
        self._label = _place(self.model.config, label, wanted.name)

    def _probability(self, read: Any) -> Any:
        logits = self.model(**read).logits.double()
        if logits.shape[-1] == 1:
            return logits[:, 0].sigmoid()
        return logits.softmax(-1)[:, self._label]


def _place(config: Any, label: str, name: str) -> int:
    """The place of a label; of two the second is meant where nobody says."""
    labels = {str(config.id2label[k]): k for k in sorted(config.id2label)}
    if not label and len(labels) <= 2:
        return len(labels) - 1
    if label not in labels:
        raise BadInput(
            f"{name!r} has no label {label!r}" if label else f"{name!r} has {len(labels)} labels",
            allowed=", ".join(labels),
            todo=f"say which one is good: hf:{name}?head=classifier&label={next(iter(labels))}",
        )
    return int(labels[label])


class Vera(_Classifier):
    """How plausible a statement is, calibrated between 0 and 1 (Liu et al. 2023, Vera).

    A T5 encoder whose last tokens' embeddings hold the head: weights, bias and temperature.
    """

    def __init__(self, transformers: Any, wanted: Wanted, facts: ModelInfo) -> None:
        super().__init__(transformers, transformers.T5EncoderModel, wanted, facts)
        shared = self.model.shared.weight.detach().double()
        self._weight, self._bias = shared[32099], shared[32098, 0]
        self._temperature = shared[32097, 0]

    def _probability(self, read: Any) -> Any:
        import torch

        hidden = self.model(**read).last_hidden_state.double()
        last = read["attention_mask"].sum(1) - 1  # the mark of the end
        ends = hidden[torch.arange(len(last), device=hidden.device), last]
        return ((ends @ self._weight + self._bias) / self._temperature).sigmoid()


def vera(
    name: str = "liujch1998/vera", dtype: str = "float32", device: str = "auto", revision: str = ""
) -> Vera:
    """How plausible is a caption, without the picture? Vera, SugarCrepe's first text-only model."""
    transformers = transformers_library()
    wanted, facts = _told("vera", name, dtype, device, revision)
    return Vera(transformers, wanted, facts)


def cola(
    name: str = "textattack/roberta-base-CoLA",
    dtype: str = "float32",
    device: str = "auto",
    revision: str = "",
) -> TextClassifier:
    """How grammatical is a caption? RoBERTa on CoLA, SugarCrepe's second text-only model."""
    transformers = transformers_library()
    wanted, facts = _told("cola", name, dtype, device, revision)
    return TextClassifier(transformers, wanted, facts, "")


def _told(
    scheme: str, name: str, dtype: str, device: str, revision: str
) -> tuple[Wanted, ModelInfo]:
    dtype_of(dtype)
    told = {"name": name, "dtype": dtype, "device": device, "revision": revision}
    wanted = Wanted(name, dtype, device_of(device), revision)
    return wanted, ModelInfo(canonical(scheme, told), told)
