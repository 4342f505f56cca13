"""ShowAttTell: an LSTM that attends to regions for each word (Xu et al. 2015)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.captioner import CaptionerConfig, RecurrentCaptioner, RegionAttention
from tellapart.models.zoo.decoding import Tensors
from tellapart.models.zoo.system import Codes, ImageInputs
from tellapart.text.vocabulary import Vocabulary


class ShowAttTell(RecurrentCaptioner):
    """The LSTM captioner with soft attention over regions.

    BISON (Hu et al. 2019, section 4): attention over the image's region vectors. From the code that
    BISON cites: LSTM, word vectors and regions of 512, an attention network of 512, the initial
    memory is a linear function of the whole image, and each step gets the previous word together
    with the mixture that the last state attends to; dropout 0.5.
    """

    def __init__(
        self, config: CaptionerConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.regions = nn.Linear(space.region_width, width)
        self.start = nn.Linear(space.whole_width, 2 * width)
        self.words = nn.Embedding(self.classes, width)
        self.attention = RegionAttention(width, width, config.attention)
        self.lstm = nn.LSTMCell(2 * width, width)
        self.out = nn.Linear(width, self.classes)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Regions, their attention keys, which are real, and the initial memory."""
        regions = self.dropout(torch.relu(self.regions(images.regions)))
        return regions, self.attention.keys(regions), images.mask(), self.start(images.whole)

    def begin(self, seen: Tensors) -> Tensors:
        """State and cell from the whole image."""
        return seen[3].chunk(2, dim=1)

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """Attend by the last state, then one step."""
        mixture = self.attention(memory[0], *seen[:3])
        memory = self.lstm(torch.cat([vectors, mixture], 1), memory)
        return memory[0], memory
