"""ConvNet+BiGRU: ConvNet+BoW with a caption that is read in order (BISON, section 4.2).

From the paper: a bidirectional GRU encodes the caption, the image is the mean of its region vectors
after an MLP, and the cosine is the score. From the code it cites (VSE++): the GRU is as wide as the
joint space, 1,024, its directions are averaged, and words have 300 dimensions. Ours: which states
of the GRU become the caption's vector (`pool`: its last states, or the mean of all); the image is
as in ConvNet+BoW.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from tellapart.errors import UnknownName
from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.layers import BiGRU, mean_rows, perceptron, unit, word_vectors
from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.text.vocabulary import Vocabulary

POOLS = ("last", "mean")


@dataclass(frozen=True, slots=True)
class BiGRUConfig:
    """Widths, dropout of words and hidden units, and the pooling."""

    joint: int = 1024
    words: int = 300
    hidden: int = 1024
    dropout: float = 0.0
    pool: str = "last"


class CaptionReader(nn.Module):
    """Words become vectors, a bidirectional GRU reads them, its states become one unit vector."""

    def __init__(self, words: int, config: BiGRUConfig) -> None:
        super().__init__()
        if config.pool not in POOLS:
            raise UnknownName("pool", config.pool, POOLS)
        self.words = word_vectors(words, config.words)
        self.leave_out = nn.Dropout(config.dropout)
        self.reader = BiGRU(config.words, config.joint)
        self.pool = config.pool

    def forward(self, texts: TextInputs) -> Tensor:
        """Unit vectors, (m, joint)."""
        vectors = self.leave_out(self.words(texts.words))
        states, last = self.reader(vectors, texts.lengths)
        return unit(last if self.pool == "last" else mean_rows(states, texts.mask()))


class ConvNetBiGRU(System):
    """A bidirectional GRU reads the caption; mean of regions; cosine."""

    Config = BiGRUConfig
    needs_regions: ClassVar[bool] = False
    dual: ClassVar[bool] = True

    def __init__(self, config: BiGRUConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        self.text = CaptionReader(len(vocabulary), config)
        self.image = perceptron(space.whole_width, config.hidden, config.joint, config.dropout)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Unit vectors, (n, joint)."""
        return (unit(self.image(images.whole)),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Unit vectors, (m, joint)."""
        return (self.text(texts),)
