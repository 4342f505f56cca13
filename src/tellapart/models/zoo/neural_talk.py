"""NeuralTalk: the captioner that mined FOIL's hardest foils (Karpathy and Fei-Fei 2015)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.captioner import CaptionerConfig, LSTMCaptioner
from tellapart.text.vocabulary import Vocabulary

SPREAD = 0.1
"""Initial weights are uniform within this distance of 0."""


@dataclass(frozen=True, slots=True)
class NeuralTalkConfig(CaptionerConfig):
    """The widths of NeuralTalk's code."""

    width: int = 256


class NeuralTalk(LSTMCaptioner):
    """An LSTM of width 256 that gets the image as its first input.

    FOIL (Shekhar et al. 2017, section 3) names the captioner and uses 1 - its loss as the
    probability of a caption. From its code: 256 everywhere, dropout 0.5, the loss summed over the
    words and the end of a caption. That code skips unknown words, so that a caption with one looks
    likelier than it is; here such a word costs its own probability. Ours: the initial weights.
    """

    Config = NeuralTalkConfig
    averaged: ClassVar[bool] = False

    def __init__(
        self, config: CaptionerConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        for layer in (self.image, self.words, self.out):
            nn.init.uniform_(layer.weight, -SPREAD, SPREAD)
