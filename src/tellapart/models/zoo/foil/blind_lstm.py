"""Blind: an LSTM that reads the caption and never looks (Shekhar et al. 2017, section 4.1)."""

from __future__ import annotations

from torch import Tensor

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.foil.classifier import (
    ClassifierConfig,
    FoilClassifier,
    LSTMReader,
    begin,
    nothing_seen,
)
from tellapart.models.zoo.system import Codes, ImageInputs, TextInputs
from tellapart.text.vocabulary import Vocabulary


class BlindLSTM(FoilClassifier):
    """An LSTM, a linear layer and a softmax, on captions alone.

    From the paper: these three parts. Ours: their sizes, taken from LSTM + norm I's code.
    """

    Config = ClassifierConfig

    def __init__(
        self, config: ClassifierConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        self.reader = LSTMReader(len(vocabulary), config.words, config.lstm, 1, config.dropout)
        self.decide_by(config.lstm)
        begin(self, scaled=config.scaled)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Nothing."""
        return nothing_seen(images)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """The LSTM's last state."""
        hidden, _ = self.reader(texts.words, texts.lengths)
        return (hidden[-1],)

    def joint(self, images: Codes, texts: Codes) -> Tensor:
        """The caption's vector."""
        joint: Tensor = self.reader.dropout(texts[0])
        return joint
