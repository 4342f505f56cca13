"""MCIC's linear baselines: I2C, C2I and LinM (Ding et al. 2016, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from tellapart.errors import BadInput
from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.layers import unit
from tellapart.models.zoo.mcic.ffnn import WORDS
from tellapart.models.zoo.mcic.paragraphs import ParagraphVectors
from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.text.vocabulary import Vocabulary

DISTANCES = ("euclidean", "cosine")


@dataclass(frozen=True, slots=True)
class LinearConfig:
    """Paragraph vectors of `paragraph` numbers, by `passes` over the captions; then all to `width`.

    The paper's: 1,024 numbers and a random projection of images and captions to 256. Its 5 epochs
    are too few for gensim (see `ParagraphOptions`). `blind` sets every image vector to zero.
    """

    width: int = 256
    paragraph: int = 1024
    passes: int = 20
    blind: bool = False


@dataclass(frozen=True, slots=True)
class RegressionConfig(LinearConfig):
    """Also what "closest" means, which the paper does not say: `euclidean` or `cosine`."""

    distance: str = "euclidean"


class LinearBaseline(System):
    """The base: an image's vector and a caption's paragraph vector, each randomly projected.

    Ours: both vectors have unit length before they are projected, and the projections are normal
    random numbers that leave the length of a vector as it is, on average.
    """

    Config = LinearConfig
    needs_regions: ClassVar[bool] = False
    dual: ClassVar[bool] = True

    def __init__(self, config: LinearConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.paragraphs = ParagraphVectors(len(vocabulary), config.paragraph)
        for name, wide in (("of_image", space.whole_width), ("of_text", config.paragraph)):
            self.register_buffer(name, torch.randn(wide, width) / width**0.5)

    def image_vectors(self, images: ImageInputs) -> Tensor:
        """Projected vectors of images, (n, width)."""
        whole = torch.zeros_like(images.whole) if self.config.blind else images.whole
        return unit(whole) @ self.get_buffer("of_image")

    def text_vectors(self, texts: TextInputs) -> Tensor:
        """Projected paragraph vectors of captions, (m, width)."""
        cut = TextInputs(texts.words[:, :WORDS], texts.lengths.clamp(max=WORDS))
        return unit(self.paragraphs(cut)) @ self.get_buffer("of_text")

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The inner products of pairs of codes."""
        return (images[0] * texts[0]).sum(1)


class Regression(LinearBaseline):
    """One side is predicted from the other by a linear map; the prediction that is closest wins.

    A score is minus the squared distance, written as an inner product of two codes: of an image
    (a, |a|^2, 1) and of a caption (2b, -1, -|b|^2). Then each side is encoded once.
    """

    Config = RegressionConfig
    task: ClassVar[str] = "regression"
    config: RegressionConfig

    def __init__(
        self, config: RegressionConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        if config.distance not in DISTANCES:
            raise BadInput(f"distance={config.distance}", allowed=" or ".join(DISTANCES))
        super().__init__(config, vocabulary, space)
        self.map = nn.Linear(config.width, config.width)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Their side, as a code."""
        own = self.image_side(images)
        if self.config.distance == "cosine":
            return (unit(own),)
        square = own.square().sum(1, keepdim=True)
        return (torch.cat([own, square, torch.ones_like(square)], 1),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Their side, as a code."""
        own = self.text_side(texts)
        if self.config.distance == "cosine":
            return (unit(own),)
        square = own.square().sum(1, keepdim=True)
        return (torch.cat([2 * own, -torch.ones_like(square), -square], 1),)

    def image_side(self, images: ImageInputs) -> Tensor:
        """What is compared of images."""
        return self.image_vectors(images)

    def text_side(self, texts: TextInputs) -> Tensor:
        """What is compared of captions."""
        return self.text_vectors(texts)


class I2C(Regression):
    """Baseline-I2C: an image's vector is mapped to a caption's; the nearest caption is chosen."""

    def image_side(self, images: ImageInputs) -> Tensor:
        """The captions that images predict."""
        predicted: Tensor = self.map(self.image_vectors(images))
        return predicted


class C2I(Regression):
    """Baseline-C2I: a caption's vector is mapped to an image's; the one nearest to it is chosen."""

    def text_side(self, texts: TextInputs) -> Tensor:
        """The images that captions predict."""
        predicted: Tensor = self.map(self.text_vectors(texts))
        return predicted


class LinM(LinearBaseline):
    """Baseline-LinM: i' Theta c, a matrix that says how well an image and a caption go together."""

    task: ClassVar[str] = "worst-decoy"

    def __init__(self, config: LinearConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        self.theta = nn.Parameter(torch.zeros(config.width, config.width))
        nn.init.xavier_uniform_(self.theta)

    def encode_images(self, images: ImageInputs) -> Codes:
        """What images ask of captions."""
        return (self.image_vectors(images) @ self.theta,)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Captions as they are."""
        return (self.text_vectors(texts),)
