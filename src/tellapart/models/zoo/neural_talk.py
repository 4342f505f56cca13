"""NeuralTalk: the captioner that mined FOIL's hardest foils (Karpathy and Fei-Fei 2015)."""

from __future__ import annotations

from torch import nn

from tellapart.models.zoo.captioner import LSTMCaptioner

SPREAD = 0.1
"""Weights start evenly within this of 0."""


class NeuralTalk(LSTMCaptioner):
    """An LSTM of 256 that is shown the image as its first input.

    FOIL (Shekhar et al. 2017, section 3) names the captioner and takes 1 - its loss as the
    probability of a caption. From its code: 256 everywhere, dropout 0.5, the loss summed over the
    words and the end of a caption. There unknown words are skipped, so that a caption with one
    looks likelier than it is; here such a word costs its own probability. Ours: where weights
    start.
    """

    per_word = False

    def __init__(self, inputs: int, words: int, width: int = 256, dropout: float = 0.5) -> None:
        super().__init__(inputs, words, width, dropout)
        for layer in (self.image, self.words, self.out):
            nn.init.uniform_(layer.weight, -SPREAD, SPREAD)
