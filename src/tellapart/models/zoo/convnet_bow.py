"""ConvNet+BoW: the simplest retrieval system of BISON (Hu et al. 2019, section 4.2).

From the paper: the caption is the mean of its word vectors, the image the mean of its region
vectors; an MLP maps each into a joint space, where the cosine is the score. From the code it cites
(VSE++, Faghri et al. 2018): 1,024 dimensions for the joint space, 300 for words. Ours: the MLPs'
hidden width, which neither states (one hidden layer as wide as the joint space); the image's own
global vector is used if the features have one (for a grid it is the mean of the cells).

It ignores the order of words, so two captions with the same words tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch.nn import functional

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.layers import perceptron, unit, word_vectors
from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.text.vocabulary import PAD, Vocabulary


@dataclass(frozen=True, slots=True)
class BowConfig:
    """Widths, and dropout of hidden units."""

    joint: int = 1024
    words: int = 300
    hidden: int = 1024
    dropout: float = 0.0


class ConvNetBow(System):
    """Mean of word vectors and mean of regions, an MLP each, cosine."""

    Config = BowConfig
    needs_regions: ClassVar[bool] = False
    dual: ClassVar[bool] = True

    def __init__(self, config: BowConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        self.words = word_vectors(len(vocabulary), config.words)
        self.text = perceptron(config.words, config.hidden, config.joint, config.dropout)
        self.image = perceptron(space.whole_width, config.hidden, config.joint, config.dropout)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Unit vectors, (n, joint)."""
        return (unit(self.image(images.whole)),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Unit vectors, (m, joint)."""
        # Sorted, so that rounding cannot distinguish two captions with the same words.
        words = texts.words.sort(dim=1).values
        mean = functional.embedding_bag(words, self.words.weight, mode="mean", padding_idx=PAD)
        return (unit(self.text(mean)),)
