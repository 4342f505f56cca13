"""MCIC's linear baselines on paragraph vectors: I2C, C2I, LinM (Ding et al. 2016, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from tellapart.errors import BadInput
from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.layers import unit
from tellapart.models.zoo.mcic.ffnn import WORDS
from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.text.gensim_vectors import ParagraphOptions, train_paragraph_words
from tellapart.text.vocabulary import PAD, Vocabulary

STEPS, MOMENTUM, RATE = 20, 0.8, 1.6
"""Settings of the ascent to a caption's vector; the rate is for outputs of unit mean square."""
POWER = 0.75
"""Negative words are drawn by their counts to this power (Mikolov et al. 2013)."""
BLOCK = 512
"""How many captions' vectors are computed together."""


class ParagraphVectors(nn.Module):
    """PV-DBOW (Le and Mikolov 2014, section 2.3): a caption's vector predicts its words.

    Gensim learns to predict words from training captions, with negative sampling. The vector of any
    caption, including training captions, then maximises the expected value of that objective,
    starting from zero: nothing is sampled, so that a caption always has the same vector. `remember`
    caches the vectors of captions that will be needed many times.
    """

    outputs: Tensor
    noise: Tensor

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.register_buffer("outputs", torch.randn(words, width) / width**0.5)
        self.register_buffer("noise", torch.full((words,), 1.0 / words))
        self.negative = ParagraphOptions().negative
        self._kept: dict[tuple[int, ...], Tensor] = {}

    def learn(self, captions: Sequence[Sequence[int]], epochs: int, seed: int) -> None:
        """Learn from captions, given as word numbers; words that never occur predict nothing."""
        width = self.outputs.shape[1]
        how = ParagraphOptions(dimensions=width, epochs=epochs, negative=self.negative, seed=seed)
        found = train_paragraph_words([[str(n) for n in one] for one in captions], how)
        rows = torch.tensor([int(word) for word in found.words])
        weights = torch.from_numpy(found.counts).double() ** POWER
        self.outputs.zero_()
        self.noise.zero_()
        self.outputs[rows] = torch.from_numpy(found.outputs)
        self.noise[rows] = (weights / weights.sum()).float()
        self._kept.clear()

    def remember(self, captions: Sequence[Sequence[int]]) -> None:
        """Compute the vectors of captions once; known ones are kept."""
        distinct = sorted({tuple(one) for one in captions} - set(self._kept))
        for begin in range(0, len(distinct), BLOCK):
            some = distinct[begin : begin + BLOCK]
            texts = TextInputs.of(some, self.outputs.device)
            self._kept |= zip(some, self._found(texts), strict=True)

    def forward(self, texts: TextInputs) -> Tensor:
        """The vectors of captions, (m, width)."""
        if self._kept:
            rows = zip(texts.words.tolist(), texts.lengths.tolist(), strict=True)
            kept = [self._kept.get(tuple(row[:length])) for row, length in rows]
            if all(one is not None for one in kept):
                return torch.stack([one for one in kept if one is not None])
        return self._found(texts)

    @torch.no_grad()
    def _found(self, texts: TextInputs) -> Tensor:
        """Gradient ascent with momentum (Nesterov 1983)."""
        outputs, noise = self.outputs, self.negative * self.noise
        # PAD is not counted.
        own = torch.zeros(len(texts.words), len(outputs), device=outputs.device)
        own.scatter_add_(1, texts.words, (texts.mask() & (texts.words != PAD)).float())
        own /= own.sum(1, keepdim=True).clamp(min=1)
        used = outputs[noise > 0]
        rate = RATE / used.square().sum(1).mean().clamp(min=1e-6)
        found = torch.zeros(len(own), outputs.shape[1], device=outputs.device)
        speed = torch.zeros_like(found)
        for _ in range(STEPS):
            ahead = found + MOMENTUM * speed
            chances = torch.sigmoid(ahead @ outputs.T)
            slope = (own * (1 - chances) - noise * chances) @ outputs
            speed = MOMENTUM * speed + rate * slope
            found = found + speed
        return found


DISTANCES = ("euclidean", "cosine")


@dataclass(frozen=True, slots=True)
class LinearConfig:
    """Paragraph vectors of size `paragraph`, from `passes` over the captions, projected to `width`.

    From the paper: 1,024 numbers and a random projection of images and captions to 256. Its 5
    epochs are too few for gensim (see `ParagraphOptions`). `blind` sets every image vector to zero.
    """

    width: int = 256
    paragraph: int = 1024
    passes: int = 20
    blind: bool = False


@dataclass(frozen=True, slots=True)
class RegressionConfig(LinearConfig):
    """Also the meaning of "closest", which the paper does not state: `euclidean` or `cosine`."""

    distance: str = "euclidean"


class LinearBaseline(System):
    """The base: an image's vector and a caption's paragraph vector, each randomly projected.

    Ours: both vectors have unit length before projection, and the projections are normal random
    numbers that preserve the length of a vector on average.
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
    """One side is predicted from the other by a linear map; the closest prediction wins.

    A score is minus the squared distance, written as an inner product of two codes, (a, |a|^2, 1)
    for an image and (2b, -1, -|b|^2) for a caption, so that each side is encoded once.
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
        """The images' vectors to compare."""
        return self.image_vectors(images)

    def text_side(self, texts: TextInputs) -> Tensor:
        """The captions' vectors to compare."""
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
    """Baseline-LinM: i' Theta c, a matrix that scores how well an image and a caption fit."""

    task: ClassVar[str] = "worst-decoy"

    def __init__(self, config: LinearConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        self.theta = nn.Parameter(torch.zeros(config.width, config.width))
        nn.init.xavier_uniform_(self.theta)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The images times the matrix."""
        return (self.image_vectors(images) @ self.theta,)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """The captions' vectors, unchanged."""
        return (self.text_vectors(texts),)
