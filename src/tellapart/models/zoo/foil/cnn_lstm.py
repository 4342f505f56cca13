"""CNN+LSTM: image and caption side by side (Shekhar et al. 2017, section 4.1)."""

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
class CNNLSTMConfig(ClassifierConfig):
    """`hidden` is the width of the layer over the concatenation."""

    hidden: int = 1024


class CNNLSTM(FoilClassifier):
    """The image's vector and an LSTM's last state are concatenated and classified.

    From the paper: the concatenation. Ours: the hidden layer (tanh) over it, without which image
    and caption would only add up and neither could change the meaning of the other; images of unit
    length; sizes, taken from LSTM + norm I's code. With `scaled`, image and caption have the same
    length, the root of the LSTM's width, and the hidden layer is a ReLU, which learns what one
    changes in the other in fewer steps.
    """

    Config = CNNLSTMConfig

    def __init__(self, config: CNNLSTMConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        numbers = config.lstm if config.scaled else 1
        self.image = Lengthened(space.whole_width, numbers, standard=config.scaled)
        self.caption = Lengthened(config.lstm, numbers) if config.scaled else nn.Identity()
        self.reader = LSTMReader(len(vocabulary), config.words, config.lstm, 1, config.dropout)
        self.hidden = nn.Linear(space.whole_width + config.lstm, config.hidden)
        self.decide_by(config.hidden)
        begin(self, scaled=config.scaled)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The image's vector, of one length."""
        return (self.image(images.whole),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """The LSTM's last state."""
        hidden, _ = self.reader(texts.words, texts.lengths)
        return (self.caption(hidden[-1]),)

    def joint(self, images: Codes, texts: Codes) -> Tensor:
        """The hidden layer's output for both."""
        both = self.reader.dropout(torch.cat([images[0], texts[0]], dim=1))
        hidden = self.hidden(both)
        seen = torch.relu(hidden) if self.config.scaled else torch.tanh(hidden)
        joint: Tensor = self.reader.dropout(seen)
        return joint
