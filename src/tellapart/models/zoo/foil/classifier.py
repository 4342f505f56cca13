"""The base of FOIL's classifiers: image and caption become one vector, which is classified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from tellapart.models.zoo.decoding import rows_of
from tellapart.models.zoo.grids import match_by_pairs
from tellapart.models.zoo.layers import Standardised, keep_variance, unit
from tellapart.models.zoo.system import Codes, ImageInputs, Minibatch, System
from tellapart.text.vocabulary import PAD

FOIL, CORRECT = 0, 1
"""The two answers, in the order of the last layer's outputs."""
SPREAD = 0.08
"""Initial weights are uniform within this distance of 0 ([code] of LSTM + norm I)."""


@dataclass(frozen=True, slots=True)
class ClassifierConfig:
    """Widths of word vectors and of the LSTM, and dropout.

    FOIL gives no sizes for its baselines; these come from LSTM + norm I's code. With `scaled`,
    which is ours, what a classifier sees and what it reads are on one scale from the beginning:
    image features are centred and scaled to variance 1 by the training images, word vectors have
    variance 1, and the first weights keep it (docs/foil-systems.md).
    """

    words: int = 200
    lstm: int = 512
    dropout: float = 0.5
    scaled: bool = False


class FoilClassifier(System):
    """Decides whether a caption is right for an image, by a softmax of its own.

    A score is the log-odds of "correct", so that the threshold is 0. A classifier passes the width
    of its joint vector to `decide_by` and defines that vector in `joint`.
    """

    task: ClassVar[str] = "judging"
    needs_regions: ClassVar[bool] = False
    threshold: ClassVar[float] = 0.0
    joint_width: int
    head: nn.Linear

    def decide_by(self, width: int) -> None:
        """Add the last layer over joint vectors of this width."""
        self.joint_width, self.head = width, nn.Linear(width, 2)

    def joint(self, images: Codes, texts: Codes) -> Tensor:
        """One vector for image k with caption k, (n, joint width)."""
        raise NotImplementedError

    def logits(self, images: Codes, texts: Codes) -> Tensor:
        """The last layer's outputs for image k with caption k, (n, 2): foil, correct."""
        found: Tensor = self.head(self.joint(images, texts))
        return found

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The log-odds that caption k is right for image k."""
        logits = self.logits(images, texts).float()
        return logits[:, CORRECT] - logits[:, FOIL]

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """The log-odds of every caption with every image."""
        return match_by_pairs(self, images, texts)

    def forward(self, batch: Minibatch) -> Tensor:
        """The last layer's outputs for the captions of a batch, each with its own image."""
        images = rows_of(self.encode_images(batch.images), batch.owner)
        return self.logits(images, self.encode_texts(batch.texts))


class LSTMReader(nn.Module):
    """Reads captions with stacked LSTMs; their final memory represents the caption.

    [code] of LSTM + norm I: word vectors go through dropout and tanh.
    """

    def __init__(self, known: int, words: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(known, words, padding_idx=PAD)
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(
            words, width, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0
        )

    def vectors(self, words: Tensor) -> Tensor:
        """Vectors of words (n, longest, width)."""
        return torch.tanh(self.dropout(self.words(words)))

    def forward(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states and cells of all layers at the end of each caption, (layers, n, width)."""
        packed = nn.utils.rnn.pack_padded_sequence(
            self.vectors(words), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        _, (hidden, cells) = self.lstm(packed)
        return hidden, cells


class Lengthened(nn.Module):
    """Vectors (n, width) of one length: 1, as in "norm I", or if given, the root of `numbers`.

    With the root of their width, numbers have variance 1 on average. With `standard`, each number
    is first centred and scaled to variance 1 by the training images.
    """

    def __init__(self, width: int, numbers: int = 1, *, standard: bool = False) -> None:
        super().__init__()
        self.standard = Standardised(width) if standard else nn.Identity()
        self.length = numbers**0.5

    def forward(self, vectors: Tensor) -> Tensor:
        """The vectors, on their new scale."""
        scaled: Tensor = unit(self.standard(vectors)) * self.length
        return scaled


def begin(module: nn.Module, *, scaled: bool) -> None:
    """Initialise all weights: within `SPREAD` of 0 ([code] of LSTM + norm I), or scaled."""
    if scaled:
        keep_variance(module)
        return
    for parameter in module.parameters():
        nn.init.uniform_(parameter, -SPREAD, SPREAD)
    for part in module.modules():
        if isinstance(part, nn.Embedding) and part.padding_idx is not None:
            with torch.no_grad():
                part.weight[part.padding_idx].zero_()


def nothing_seen(images: ImageInputs) -> Codes:
    """Codes of images for a system that does not look: one empty row each."""
    return (images.whole.new_empty(len(images.whole), 0),)
