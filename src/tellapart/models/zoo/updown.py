"""UpDown: one LSTM decides where to look, another what to say (Anderson et al. 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.captioner import CaptionerConfig, RecurrentCaptioner, RegionAttention
from tellapart.models.zoo.decoding import Tensors
from tellapart.models.zoo.system import Codes, ImageInputs
from tellapart.text.vocabulary import Vocabulary


class UpDown(RecurrentCaptioner):
    """The captioner with an attention LSTM below a language LSTM.

    Anderson et al. (2018), section 3.2: the attention LSTM gets the language LSTM's last state, the
    whole image and the previous word; its state weights the regions; the language LSTM gets their
    mixture and that state. BISON (Hu et al. 2019, section 4) uses it on its 36 regions. From the
    code that BISON cites: LSTMs, word vectors and regions of 512, an attention network of 512,
    regions and image each through a linear layer and a ReLU first, dropout 0.5.
    """

    def __init__(
        self, config: CaptionerConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.regions = nn.Linear(space.region_width, width)
        self.whole = nn.Linear(space.whole_width, width)
        self.words = nn.Embedding(self.classes, width)
        self.attention = RegionAttention(width, width, config.attention)
        self.looks = nn.LSTMCell(3 * width, width)
        self.says = nn.LSTMCell(2 * width, width)
        self.out = nn.Linear(width, self.classes)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Regions, their attention keys, which are real, and the whole image."""
        regions = self.dropout(torch.relu(self.regions(images.regions)))
        whole = self.dropout(torch.relu(self.whole(images.whole)))
        return regions, self.attention.keys(regions), images.mask(), whole

    def begin(self, seen: Tensors) -> Tensors:
        """State and cell of both LSTMs, all zero."""
        return (torch.zeros_like(seen[3]),) * 4

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """Decide where to look, then what to say."""
        looking, looking_cell, saying, saying_cell = memory
        below = torch.cat([saying, seen[3], vectors], 1)
        looking, looking_cell = self.looks(below, (looking, looking_cell))
        mixture = self.attention(looking, *seen[:3])
        above = torch.cat([mixture, looking], 1)
        saying, saying_cell = self.says(above, (saying, saying_cell))
        return saying, (looking, looking_cell, saying, saying_cell)
