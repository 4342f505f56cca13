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


class Regression(LinearBaseline):
    """One side is predicted from the other by a linear map; the prediction that is closest wins."""

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

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """Minus the distance, or the cosine, of what is predicted and what is there."""
        if self.config.distance == "cosine":
            return unit(images[0]) @ unit(texts[0]).T
        return -torch.cdist(images[0], texts[0], compute_mode="donot_use_mm_for_euclid_dist")

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The same for pairs."""
        if self.config.distance == "cosine":
            return (unit(images[0]) * unit(texts[0])).sum(1)
        distance: Tensor = torch.linalg.vector_norm(images[0] - texts[0], dim=1)
        return -distance


class I2C(Regression):
    """Baseline-I2C: an image's vector is mapped to a caption's; the nearest caption is chosen."""

    def encode_images(self, images: ImageInputs) -> Codes:
        """The captions that images predict."""
        return (self.map(self.image_vectors(images)),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Captions as they are."""
        return (self.text_vectors(texts),)


class C2I(Regression):
    """Baseline-C2I: a caption's vector is mapped to an image's; the one nearest to it is chosen."""

    def encode_images(self, images: ImageInputs) -> Codes:
        """Images as they are."""
        return (self.image_vectors(images),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """The images that captions predict."""
        return (self.map(self.text_vectors(texts)),)


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

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """How well each goes with each."""
        return images[0] @ texts[0].T

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The same for pairs."""
        return (images[0] * texts[0]).sum(1)
