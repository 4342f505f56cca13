"""ShowAttTell: an LSTM that looks at other regions for each word (Xu et al. 2015)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.models.zoo.captioner import (
    RecurrentCaptioner,
    RegionAttention,
    SeenImages,
    Tensors,
)


class ShowAttTell(RecurrentCaptioner):
    """The LSTM captioner with soft attention over regions.

    BISON (Hu et al. 2019, section 4): attention over the image's region vectors. From the code that
    BISON cites: LSTM, word vectors and regions of 512, an attention network of 512, the memory
    begins as a linear function of the whole image, and each step gets the word before together with
    the mixture that the last state attends to; dropout 0.5.
    """

    def __init__(
        self, inputs: int, words: int, width: int = 512, attention: int = 512, dropout: float = 0.5
    ) -> None:
        super().__init__(dropout)
        self.regions = nn.Linear(inputs, width)
        self.start = nn.Linear(inputs, 2 * width)
        self.words = nn.Embedding(words, width)
        self.attention = RegionAttention(width, width, attention)
        self.lstm = nn.LSTMCell(2 * width, width)
        self.out = nn.Linear(width, words)

    def see(self, images: SeenImages) -> Tensors:
        """Regions, what they bring to the weights, which there are; where the memory begins."""
        regions = self.dropout(torch.relu(self.regions(images.regions)))
        return regions, self.attention.keys(regions), images.there, self.start(images.whole)

    def begin(self, seen: Tensors) -> Tensors:
        """State and cell from the whole image."""
        return seen[3].chunk(2, dim=1)

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """Attend by the last state, then one step."""
        mixture = self.attention(memory[0], *seen[:3])
        memory = self.lstm(torch.cat([vectors, mixture], 1), memory)
        return memory[0], memory
