"""Models whose behaviour is known: chance, a constant, words alone, the world's truth.

`chance` and `constant` check theory, ties and the order of options; `blind` never looks at the
picture; `oracle` reads the truth with a chosen error rate.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tellapart import seeds
from tellapart.corpus.world.grammar import understand
from tellapart.corpus.world.scene import Scene, Statement, is_true
from tellapart.corpus.world.world import scene_of
from tellapart.errors import BadImage, BadInput
from tellapart.models.model import AnyFloats, ChooserReply, NamedModel, ShownItem, ShownQuestion
from tellapart.models.names import plain_info
from tellapart.pictures import Picture
from tellapart.text.ngram_model import UNKNOWN, NGramModel, Trigrams
from tellapart.text.tokens import tokens
from tellapart.types import Floats, Ints

FOLDS = 5
"""Folds of the groups of images; a caption is scored by a model of the other folds."""

_understand = lru_cache(maxsize=100_000)(understand)


class Chance(NamedModel):
    """Scores every cell at random; the floor that any model must leave behind."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.facts = plain_info("chance", seed=seed)

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """One random number per pair, always the same for the same pair."""
        pairs = zip(pictures, texts, strict=True)
        return np.array([seeds.unit("chance", self.seed, p.id, text) for p, text in pairs])


class ChanceChooser(NamedModel):
    """Answers every question at random, each on its own (as a person with eyes shut would)."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.facts = plain_info("chance-chooser", seed=seed)

    def choose(self, asked: Sequence[ShownQuestion]) -> list[ChooserReply]:
        """One random option per question."""
        return [ChooserReply(shown=self._pick(question)) for question in asked]

    def _pick(self, asked: ShownQuestion) -> int:
        path = (asked.item.content, asked.question.id, asked.trial)
        return int(seeds.unit("chooser", self.seed, *path) * len(asked.order))


class Constant(NamedModel):
    """Gives every cell the same score: ties on every item."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self.facts = plain_info("constant", value=value)

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """The same number for every pair."""
        return np.full(len(texts), self.value)


class ConstantChooser(NamedModel):
    """Always picks the option that is shown first."""

    def __init__(self) -> None:
        self.facts = plain_info("constant-chooser")

    def choose(self, asked: Sequence[ShownQuestion]) -> list[ChooserReply]:
        """Position 0, every time."""
        return [ChooserReply(shown=0) for _ in asked]


class Blind(NamedModel):
    """Scores captions by their own likelihood, per word; never sees a picture.

    Language models are fitted on the benchmark's own captions, right and wrong alike, so they know
    how captions are written there but not which are true. A caption is scored by a model that saw
    neither the items that share images with its own nor any of their captions elsewhere: otherwise
    a model would know captions by heart, and the words shared by a caption and its near miss would
    give away the one that differs.
    """

    def __init__(self, order: int = 3) -> None:
        self.order = order
        self.facts = plain_info("blind", order=order)
        self._fold_of_image: dict[str, int] = {}
        self._words = _Words(())
        self._by_fold: list[dict[str, None]] = []
        self._models: dict[int, _CaptionModel] = {}
        self._known: dict[tuple[int, str], float] = {}

    def prepare(self, shown: Sequence[ShownItem]) -> None:
        """Fit one language model for each fold, on the captions of all other folds."""
        groups = sorted({one.group for one in shown})
        places = seeds.rng(0, "blind").permutation(len(groups)) % FOLDS
        fold_of_group = {group: int(k) for group, k in zip(groups, places, strict=True)}
        self._fold_of_image = {i: fold_of_group[s.group] for s in shown for i in s.images}
        self._by_fold = [{} for _ in range(FOLDS)]
        for one in shown:
            self._by_fold[fold_of_group[one.group]].update(dict.fromkeys(one.captions))
        self._words = _Words({text for texts in self._by_fold for text in texts})
        self._known, self._models = {}, {}
        for fold, own in enumerate(self._by_fold):  # all of them, since all will be needed
            self._learn(fold, self._fitted(fold), list(own))

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> Floats:
        """Mean log-probability per word; the picture only selects the model to use."""
        folds = [self._fold_of_image[picture.id] for picture in pictures]
        keys = list(zip(folds, texts, strict=True))
        for fold in set(folds):
            new = {text for f, text in keys if f == fold and (f, text) not in self._known}
            if new:  # an edited caption: its fold's model is fitted again and kept from now on
                if fold not in self._models:
                    self._models[fold] = self._fitted(fold)
                self._learn(fold, self._models[fold], sorted(new))
        return np.array([self._known[key] for key in keys])

    def _fitted(self, fold: int) -> _CaptionModel:
        """A model of all captions that do not occur in the fold."""
        own = self._by_fold[fold]
        others = dict.fromkeys(text for texts in self._by_fold for text in texts if text not in own)
        return _CaptionModel(self._words, list(others), self.order)

    def _learn(self, fold: int, model: _CaptionModel, texts: list[str]) -> None:
        # Rounded so that captions with the same n-grams tie, whatever the order of summation.
        scores = np.round(model.scores(texts), 9) if texts else ()
        keys = ((fold, text) for text in texts)
        self._known.update(zip(keys, map(float, scores), strict=True))


class _Words:
    """Captions as word numbers; each is tokenized once, for all folds."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        self._known = {
            text: array(
                "i", (self._numbers.setdefault(w, len(self._numbers)) for w in tokens(text))
            )
            for text in texts
        }

    def of(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The words of some texts, concatenated, and where each text begins."""
        numbers = [
            self._known[text]
            if text in self._known
            else array("i", [self._numbers.get(word, UNKNOWN) for word in tokens(text)])
            for text in texts
        ]
        starts = np.concatenate([[0], np.cumsum([len(one) for one in numbers])])
        words = np.frombuffer(b"".join(numbers), np.int32).astype(np.int64)
        return words, starts.astype(np.int64)


class _CaptionModel:
    """An n-gram model of some captions; order 3, the usual one, processes many texts at a time."""

    def __init__(self, words: _Words, texts: list[str], order: int) -> None:
        self._words = words
        self._trigrams = Trigrams(*words.of(texts)) if order == 3 else None
        self._ngrams = NGramModel(map(tokens, texts), order) if order != 3 else None

    def scores(self, texts: Sequence[str]) -> Floats:
        """The mean log-probability per word of each text."""
        if self._trigrams is not None:
            return self._trigrams.mean_log_probabilities(*self._words.of(texts))
        assert self._ngrams is not None
        return np.array([self._ngrams.mean_log_probability(tokens(text)) for text in texts])


class Oracle(NamedModel):
    """Knows the truth about pictures of the built-in world (error=0.1: is wrong in 10% of cells).

    It reads the caption and the scene stored in the picture file, and judges whether the caption is
    true, whatever the benchmark says.
    """

    def __init__(self, error: float = 0.0, seed: int = 0) -> None:
        if not 0 <= error <= 1:
            raise BadInput(f"error={error} is not a rate", allowed="0 to 1")
        self.error, self.seed = error, seed
        self.facts = replace(plain_info("oracle", error=error, seed=seed), threshold=0.5)
        self._scenes: dict[str, Scene] = {}

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """1 if the caption is true, 0 if it is false; flipped in the cells with an error."""
        pairs = zip(pictures, texts, strict=True)
        return np.array([float(self._judge(picture, text)) for picture, text in pairs])

    def _judge(self, picture: Picture, text: str) -> bool:
        statement: Statement | None = _understand(text)
        truth = statement is not None and is_true(statement, self._scene(picture))
        errs = seeds.unit("oracle", self.seed, picture.id, text) < self.error
        return truth != errs

    def _scene(self, picture: Picture) -> Scene:
        key = str(picture.path)
        if key not in self._scenes:
            scene = scene_of(picture)
            if scene is None:
                raise BadImage(
                    f"image {picture.id} is not a picture of the built-in world",
                    where=str(picture.path),
                    allowed="for oracle: pictures drawn by `tellapart world`",
                )
            self._scenes[key] = scene
        return self._scenes[key]
