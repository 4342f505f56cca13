"""Training on items: a true caption is chosen among others (MCIC, Ding et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
from torch import Tensor
from torch.nn import functional

from tellapart.errors import BadInput
from tellapart.models.zoo.decoding import rows_of
from tellapart.models.zoo.mcic.ffnn import WORDS
from tellapart.models.zoo.system import Minibatch, System, TextInputs
from tellapart.training.data import TrainingSet
from tellapart.training.items_data import ItemBatch, ItemSet
from tellapart.training.task import Task

QUESTIONS = 200
"""The batch size of validation."""


@dataclass(frozen=True, slots=True)
class NoSettings:
    """A task without settings of its own."""


class ChoosingTask(Task):
    """The base of choice tasks; the best weights give most true captions the highest score."""

    Settings: ClassVar[type[Any]] = NoSettings
    measure = "accuracy"
    items = True
    needs: ClassVar[str] = "match_pairs"

    def __init__(self, system: System, settings: Any, data: TrainingSet) -> None:
        if not hasattr(system, self.needs) or not isinstance(data, ItemSet):
            raise BadInput(
                "this system cannot be trained to choose among captions",
                allowed="a system of MCIC: i2c, c2i, linm, ffnn, vec2seq-ffnn",
                todo="leave --task out",
            )
        super().__init__(system, settings, data)

    def forward(self, batch: Minibatch, epoch: int) -> Tensor:
        """The loss of a batch of questions."""
        return self.loss(cast(ItemBatch, batch))

    def loss(self, batch: ItemBatch) -> Tensor:
        """The loss of a batch of questions, a number."""
        raise NotImplementedError

    def validate(self, data: TrainingSet) -> dict[str, float]:
        """Accuracy in percent; a tie with a false caption is wrong."""
        system: System = self.system
        device = next(system.parameters()).device
        right = 0
        for begin in range(0, len(data), QUESTIONS):
            places = np.arange(begin, min(begin + QUESTIONS, len(data)))
            batch = data.minibatch(places, regions=system.needs_regions).to(device)
            assert isinstance(batch, ItemBatch)
            right += int((margins(scores_of(system, batch), batch) > 0).sum())
        return {"accuracy": 100 * right / len(data)}


def scores_of(system: System, batch: ItemBatch) -> Tensor:
    """How well each caption of a batch fits its image."""
    images = rows_of(system.encode_images(batch.images), batch.owner)
    return system.match_pairs(images, system.encode_texts(batch.texts))


def margins(scores: Tensor, batch: ItemBatch) -> Tensor:
    """The lead of each question's best true caption over its best false one."""
    count = int(batch.question[-1]) + 1
    low = scores.new_full((count,), float("-inf"))
    true, false = (
        low.scatter_reduce(0, batch.question, scores.masked_fill(~own, float("-inf")), "amax")
        for own in (batch.right, ~batch.right)
    )
    return true - false


class ParagraphTask(ChoosingTask):
    """The base of tasks whose system reads paragraph vectors, which are computed first.

    They are learned only from the true captions of the training set.
    """

    needs = "paragraphs"

    def __init__(self, system: System, settings: Any, data: TrainingSet) -> None:
        super().__init__(system, settings, data)
        assert isinstance(data, ItemSet)
        paragraphs: Any = system.paragraphs
        known = dict(zip(data.images.texts, data.words, strict=True))
        own = [known[text][:WORDS] for text in data.images.own_texts]
        paragraphs.learn(own, system.config.passes, 0)
        self._remember(data)

    def _remember(self, data: TrainingSet) -> None:
        paragraphs: Any = self.system.paragraphs
        paragraphs.remember([words[:WORDS] for words in data.words])

    def validate(self, data: TrainingSet) -> dict[str, float]:
        """Accuracy in percent; the captions' vectors are computed once for all epochs."""
        self._remember(data)
        return super().validate(data)


class RegressionTask(ParagraphTask):
    """The squared error of the prediction for true captions; decoys are not used.

    Ding et al. (2016), section 4.1. The paper does not say how the regression is solved. Here it is
    trained like everything else; least squares has one minimum, which Adam approaches. The best
    weights are those with the smallest validation error, whatever their accuracy.
    """

    measure = "fit"

    def validate(self, data: TrainingSet) -> dict[str, float]:
        """Accuracy in percent, and minus the mean squared error."""
        figures = super().validate(data)
        batch = data.minibatch(np.arange(len(data)), regions=False)
        device = next(self.system.parameters()).device
        error = self.loss(cast(ItemBatch, batch.to(device)))
        return {"fit": -error.item(), **figures}

    def loss(self, batch: ItemBatch) -> Tensor:
        """The mean squared error."""
        system: Any = self.system
        right = batch.right
        images = system.image_side(batch.images)[batch.owner[right]]
        texts = TextInputs(batch.texts.words[right], batch.texts.lengths[right])
        return functional.mse_loss(images, system.text_side(texts))


@dataclass(frozen=True, slots=True)
class MarginSettings:
    """The margin by which a true caption must beat the worst decoy."""

    margin: float = 0.1


class WorstDecoyTask(ParagraphTask):
    """The true caption must beat the decoy with the highest score: a hinge loss.

    Ding et al. (2016), equation 2, which is printed without a margin. Without one, a matrix of
    zeros, which distinguishes nothing, has no loss and no gradient; with a margin it has both.
    Ours: the margin, and the mean over the questions of a batch.
    """

    Settings: ClassVar[type[Any]] = MarginSettings

    def loss(self, batch: ItemBatch) -> Tensor:
        """The amount by which the margin is missed."""
        gaps = margins(scores_of(self.system, batch), batch)
        return functional.relu(self.settings.margin - gaps).mean()


class YesNoTask(ChoosingTask):
    """Each caption is classified as right or wrong: cross-entropy, summed over a question.

    Ding et al. (2016), equation 3; the mean over the questions of a batch (ours).
    """

    needs = "yes_or_no"

    def loss(self, batch: ItemBatch) -> Tensor:
        """The cross-entropy of yes and no."""
        system: Any = self.system
        images = rows_of(system.encode_images(batch.images), batch.owner)
        scores = system.yes_or_no(images, system.encode_texts(batch.texts))
        return yes_no_loss(scores, batch)


def yes_no_loss(scores: Tensor, batch: ItemBatch) -> Tensor:
    """The cross-entropy of no/yes scores (m, 2), summed over each question."""
    total = functional.cross_entropy(scores.float(), batch.right.long(), reduction="sum")
    return total / (batch.question[-1] + 1)


WRITING = ("sum", "mean")


@dataclass(frozen=True, slots=True)
class JointSettings:
    """The weight of writing, lambda_gen (the paper's default is 1), and what it weighs.

    `writing` is the `sum` of the losses of a caption's words, or their `mean`.
    """

    lambda_gen: float = 1.0
    writing: str = "sum"


class JointTask(ChoosingTask):
    """Yes or no for each caption, and every word of the true one: Ding et al. (2016), equation 4.

    The system never learns to write decoys. The equation is printed as a sum over words, images and
    captions, without saying how a batch is averaged; the sequence loss of the paper's TensorFlow
    averages over words unless told otherwise, so both are offered. With a sum, the eleven words of
    a caption soon outweigh its yes or no. The mean over the questions of a batch is ours.
    """

    Settings: ClassVar[type[Any]] = JointSettings
    needs = "writing_loss"

    def __init__(self, system: System, settings: JointSettings, data: TrainingSet) -> None:
        if settings.writing not in WRITING:
            raise BadInput(f"writing={settings.writing}", allowed=" or ".join(WRITING))
        super().__init__(system, settings, data)

    def loss(self, batch: ItemBatch) -> Tensor:
        """Both losses, from one pass of the decoder."""
        system: Any = self.system
        seen = rows_of(system.encode_images(batch.images), batch.owner)
        (captions,) = system.encode_texts(batch.texts)
        outputs, there = system.read(captions, seen)
        choosing = yes_no_loss(system.judge(outputs, seen), batch)
        right = batch.right
        writing = system.writing_loss(outputs[right], there[right], captions[right])
        if self.settings.writing == "mean":
            writing = writing / there[right].sum(1)
        weight: float = self.settings.lambda_gen
        joint: Tensor = choosing + weight * writing.sum() / (batch.question[-1] + 1)
        return joint
