"""Text classifiers of transformers, among them the two that SugarCrepe was refined with.

Hsieh et al. 2023, SugarCrepe, and Miranda et al. 2024, BiVLC, appendix E.3: plausibility by Vera,
grammar by a RoBERTa that was trained on CoLA.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.models.hf.loading import Wanted, described, fetch, transformers_library, weights_of
from tellapart.models.language.model import TextOnly
from tellapart.models.model import Facts, Floats
from tellapart.models.names import canonical
from tellapart.models.torch_tools import chunks, device_of, dtype_of, fingerprint

BATCH, LENGTH = 32, 128


class _Classifier(TextOnly):
    """What classifiers share: tokens in, one probability out."""

    def __init__(self, transformers: Any, kind: Any, wanted: Wanted, facts: Facts) -> None:
        self._wanted = wanted
        self.model = weights_of(kind, wanted)
        self.tokenizer = fetch(transformers.AutoTokenizer.from_pretrained, wanted)
        self.facts = Facts(
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

    def __init__(self, transformers: Any, wanted: Wanted, facts: Facts, label: str) -> None:
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

    def __init__(self, transformers: Any, wanted: Wanted, facts: Facts) -> None:
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


def _told(scheme: str, name: str, dtype: str, device: str, revision: str) -> tuple[Wanted, Facts]:
    dtype_of(dtype)
    told = {"name": name, "dtype": dtype, "device": device, "revision": revision}
    wanted = Wanted(name, dtype, device_of(device), revision)
    return wanted, Facts(canonical(scheme, told), told)
