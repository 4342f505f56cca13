"""LSTM + norm I: image and caption multiplied (Antol et al. 2015; Shekhar et al. 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.foil.classifier import (
    ClassifierConfig,
    FoilClassifier,
    Lengthened,
    LSTMReader,
    begin,
)
from tellapart.models.zoo.system import Codes, ImageInputs, TextInputs
from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class LSTMNormIConfig(ClassifierConfig):
    """`common` is the space in which image and caption are multiplied."""

    common: int = 1024


class LSTMNormI(FoilClassifier):
    """Two stacked LSTMs read; image and caption are projected, multiplied and classified.

    From the paper: two stacked LSTMs, an image of unit length, both in 1,024 dimensions, their
    product, and a classifier, which it calls an MLP. From the cited code: word vectors of 200,
    LSTMs of 512 whose last states and cells together (2,048 numbers) are the caption; tanh after
    both projections; dropout 0.5 before them and after the product; one linear layer as classifier;
    the initial weights. With `scaled`, which is ours, image features are centred and scaled first,
    and the length is the root of the features' number.
    """

    Config = LSTMNormIConfig
    layers = 2

    def __init__(
        self, config: LSTMNormIConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        numbers = space.whole_width if config.scaled else 1
        self.image = Lengthened(space.whole_width, numbers, standard=config.scaled)
        self.reader = LSTMReader(
            len(vocabulary), config.words, config.lstm, self.layers, config.dropout
        )
        self.of_text = nn.Linear(2 * self.layers * config.lstm, config.common)
        self.of_image = nn.Linear(space.whole_width, config.common)
        self.dropout = nn.Dropout(config.dropout)
        self.decide_by(config.common)
        begin(self, scaled=config.scaled)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The image in the common space."""
        return (torch.tanh(self.of_image(self.dropout(self.image(images.whole)))),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """The caption in the common space."""
        hidden, cells = self.reader(texts.words, texts.lengths)
        read = torch.cat([*hidden, *cells], dim=1)
        return (torch.tanh(self.of_text(self.dropout(read))),)

    def joint(self, images: Codes, texts: Codes) -> Tensor:
        """Their product."""
        joint: Tensor = self.dropout(images[0] * texts[0])
        return joint
