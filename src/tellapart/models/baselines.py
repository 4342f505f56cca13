"""`chance`: answers that depend on nothing but a hash, to check that theory is met."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tellapart import seeds
from tellapart.corpus.world.grammar import understand
from tellapart.corpus.world.scene import Scene, Statement, is_true
from tellapart.corpus.world.world import scene_of
from tellapart.errors import BadImage, BadInput
from tellapart.models.model import AnyFloats, ChooserReply, NamedModel, ShownItem, ShownQuestion
from tellapart.models.names import facts
from tellapart.pictures import Picture
from tellapart.text.ngram_model import NGramModel
from tellapart.text.tokens import tokens


class Chance(NamedModel):
    """Scores every cell at random; the floor that any model must leave behind."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.facts = facts("chance", seed=seed)

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """One random number a pair, the same for the same pair."""
        pairs = zip(pictures, texts, strict=True)
        return np.array([seeds.unit("chance", self.seed, p.id, text) for p, text in pairs])


class ChanceChooser(NamedModel):
    """Answers every question at random, each on its own (as a person with eyes shut would)."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.facts = facts("chance-chooser", seed=seed)

    def choose(self, asked: Sequence[ShownQuestion]) -> list[ChooserReply]:
        """One random option a question."""
        return [ChooserReply(shown=self._pick(question)) for question in asked]

    def _pick(self, asked: ShownQuestion) -> int:
        path = (asked.item.content, asked.question.id, asked.trial)
        return int(seeds.unit("chooser", self.seed, *path) * len(asked.order))


class Constant(NamedModel):
    """Gives every cell the same score: ties on every item."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value
        self.facts = facts("constant", value=value)

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """The same number for every pair."""
        return np.full(len(texts), self.value)


class ConstantChooser(NamedModel):
    """Always picks the option that is shown first."""

    def __init__(self) -> None:
        self.facts = facts("constant-chooser")

    def choose(self, asked: Sequence[ShownQuestion]) -> list[ChooserReply]:
        """Position 0, every time."""
        return [ChooserReply(shown=0) for _ in asked]


FOLDS = 5


class Blind(NamedModel):
    """Scores captions by their own likelihood, per word; never sees a picture.

    Language models are fitted on the captions of the benchmark at hand, right and wrong ones
    alike, so they know how captions are written there but not which are true. A caption is scored
    by a model that saw neither the items that share images with its own nor any of their captions
    elsewhere: else a model would know captions by heart, and the words that a caption and its near
    miss have in common would give the odd one away.
    """

    def __init__(self, order: int = 3) -> None:
        self.order = order
        self.facts = facts("blind", order=order)
        self._fold_of_image: dict[str, int] = {}
        self._models: list[NGramModel] = []
        self._known: dict[tuple[int, str], float] = {}

    def prepare(self, shown: Sequence[ShownItem]) -> None:
        """Fit one language model for each fold, on the captions of all other folds."""
        groups = sorted({one.group for one in shown})
        places = seeds.rng(0, "blind").permutation(len(groups)) % FOLDS
        fold_of_group = {group: int(k) for group, k in zip(groups, places, strict=True)}
        self._fold_of_image = {i: fold_of_group[s.group] for s in shown for i in s.images}
        self._known = {}
        by_fold: list[dict[str, None]] = [{} for _ in range(FOLDS)]
        for one in shown:
            by_fold[fold_of_group[one.group]] |= dict.fromkeys(one.captions)
        self._models = [
            NGramModel(map(tokens, _without(by_fold, fold)), self.order) for fold in range(FOLDS)
        ]

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """Mean log-probability of a word; the picture only says which model is fair."""
        return np.array([self._score(p.id, text) for p, text in zip(pictures, texts, strict=True)])

    def _score(self, image: str, text: str) -> float:
        key = (self._fold_of_image[image], text)
        if key not in self._known:
            # Rounded: captions of the same n-grams tie, whatever the order of summation.
            likelihood = self._models[key[0]].mean_log_probability(tokens(text))
            self._known[key] = round(likelihood, 9)
        return self._known[key]


def _without(by_fold: list[dict[str, None]], fold: int) -> list[str]:
    """The distinct captions of all folds that do not occur in one of them."""
    every = {text: None for texts in by_fold for text in texts}
    return [text for text in every if text not in by_fold[fold]]


_understand = lru_cache(maxsize=100_000)(understand)


class Oracle(NamedModel):
    """Knows the truth about pictures of the built-in world (error=0.1: is wrong in 10% of cells).

    It reads the caption, and the scene that the picture file carries; what it judges is the
    caption's truth, not what the benchmark says about it.
    """

    def __init__(self, error: float = 0.0, seed: int = 0) -> None:
        if not 0 <= error <= 1:
            raise BadInput(f"error={error} is not a rate", allowed="0 to 1")
        self.error, self.seed = error, seed
        self.facts = facts("oracle", error=error, seed=seed)
        self._scenes: dict[str, Scene] = {}

    def score_pairs(self, pictures: Sequence[Picture], texts: Sequence[str]) -> AnyFloats:
        """1 where the caption is true, 0 where it is false; turned round in cells of error."""
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
