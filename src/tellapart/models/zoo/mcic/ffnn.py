"""FFNN: a feedforward network decides whether a caption fits an image (Ding et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.layers import linear, word_vectors
from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.text.vocabulary import PAD, Vocabulary

WORDS = 30
"""How many words of a caption are read (Ding et al. 2016, section 5.1)."""
BLOCK = 1 << 22
"""How many numbers of the first hidden layer a grid of pairs holds at a time."""


@dataclass(frozen=True, slots=True)
class FFNNConfig:
    """The paper's sizes at 256: vectors of images and words, and both hidden layers.

    `blind` sets every image vector to zero, so that only captions give anything away.
    """

    width: int = 256
    hidden: int = 64
    hidden2: int = 16
    dropout: float = 0.0
    blind: bool = False


class YesNoHead(nn.Module):
    """Two hidden ReLU layers and a softmax over no and yes, for an image with a caption.

    The first layer is a sum of the image's part and the caption's part, so that in a grid each side
    is computed once.
    """

    def __init__(self, image: int, text: int, hidden: int, hidden2: int, dropout: float) -> None:
        super().__init__()
        self.of_image = linear(image, hidden)
        self.of_text = nn.Linear(text, hidden, bias=False)
        nn.init.xavier_uniform_(self.of_text.weight)
        self.inner, self.out = linear(hidden, hidden2), linear(hidden2, 2)
        self.dropout = nn.Dropout(dropout)

    def forward(self, images: Tensor, texts: Tensor) -> Tensor:
        """Scores of no and yes, (..., 2), from both sides' parts of the first layer."""
        first = self.dropout(torch.relu(images + texts))
        scores: Tensor = self.out(self.dropout(torch.relu(self.inner(first))))
        return scores

    def odds(self, images: Tensor, texts: Tensor) -> Tensor:
        """The log-odds of yes, which rank captions like its probability."""
        scores = self(images, texts)
        odds: Tensor = scores[..., 1] - scores[..., 0]
        return odds


class FFNN(System):
    """A yes or no for each pair of an image and a caption; the likeliest yes is chosen.

    Ding et al. (2016), section 4.2: the input is the image's vector and the list of the caption's
    word vectors, then two hidden ReLU layers and a softmax; at 256 dimensions the layers have 64
    and 16 units (Table 4). Captions are cut at 30 words (section 5.1). Ours: the list is
    concatenated and padded with zeros; a linear layer maps the image's features to the same width;
    words and weights are initialised as in our other systems.
    """

    Config = FFNNConfig
    task: ClassVar[str] = "yes-no"
    needs_regions: ClassVar[bool] = False

    def __init__(self, config: FFNNConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.image = linear(space.whole_width, width)
        self.words = word_vectors(len(vocabulary), width)
        self.dropout = nn.Dropout(config.dropout)
        self.head = YesNoHead(width, WORDS * width, config.hidden, config.hidden2, config.dropout)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The images' part of the first layer, (n, hidden)."""
        whole = torch.zeros_like(images.whole) if self.config.blind else images.whole
        return (self.head.of_image(self.dropout(self.image(whole))),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """The captions' part of the first layer, (m, hidden)."""
        words = texts.words[:, :WORDS]
        words = functional.pad(words, (0, WORDS - words.shape[1]), value=PAD)
        return (self.head.of_text(self.dropout(self.words(words)).flatten(1)),)

    def yes_or_no(self, images: Codes, texts: Codes) -> Tensor:
        """Scores of no and yes for pairs, (n, 2)."""
        scores: Tensor = self.head(images[0], texts[0])
        return scores

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The log-odds that caption k fits image k."""
        return self.head.odds(images[0], texts[0])

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """The log-odds of every caption with every image, a few rows at a time."""
        (seen,), (said,) = images, texts
        high = max(1, BLOCK // max(1, said.numel()))
        rows = [self.head.odds(some[:, None], said[None]) for some in torch.split(seen, high)]
        return torch.cat(rows)
