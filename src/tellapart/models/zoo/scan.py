"""SCAN: stacked cross-attention (Lee et al. 2018), as BISON trains it both ways (section 4.2).

From the paper: words and regions share one space; each item of one side (the query) attends to the
other side (the context), and is compared by the cosine with what it attended to; the cosines are
pooled by LogSumExp. In `t2i` words look for regions, in `i2t` regions for words. From SCAN's code:
1,024 dimensions, words of 300, a bidirectional GRU whose directions are averaged, one linear layer
for regions, similarities clipped by a LeakyReLU of 0.1 and l2-normalised over queries, temperature
9 and LogSumExp 6 for t2i, 4 and 20 for i2t.

The method of computation is ours. The attended vector of a query, a = sum of w_c c over the
context, is never formed: with s_c = q . c, q . a = sum w_c s_c, and |a|^2 = w' G w, where G holds
the inner products of the context with itself. So a whole grid of images and captions costs one
matrix product and operations on the similarities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.layers import BiGRU, linear, unit, word_vectors
from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.text.vocabulary import Vocabulary

CLIP = 0.1
"""The slope of the LeakyReLU."""
LOT, LOTS = 16, 6
"""Texts are matched in at most this many groups of similar length, with at least this many each."""
ROOM = 1 << 18
"""How many similarities are processed at a time without gradients, to fit processor caches."""


@dataclass(frozen=True, slots=True)
class ScanConfig:
    """Widths, the softmax's inverse temperature, the LogSumExp's factor; dropout is ours."""

    joint: int = 1024
    words: int = 300
    temperature: float = 9.0
    log_sum_exp: float = 6.0
    dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class ScanI2TConfig(ScanConfig):
    """Regions look for words, with other factors."""

    temperature: float = 4.0
    log_sum_exp: float = 20.0


class _Scan(System):
    """The base of both directions; codes are unit vectors of items, and which are real."""

    Config: ClassVar[type[ScanConfig]] = ScanConfig
    words_ask: ClassVar[bool] = True

    def __init__(self, config: ScanConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        self.words = word_vectors(len(vocabulary), config.words)
        self.leave_out = nn.Dropout(config.dropout)
        self.reader = BiGRU(config.words, config.joint)
        self.narrow = linear(space.region_width, config.joint)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Regions (n, r, joint), their inner products (n, r, r), the mask (n, r)."""
        return self._coded(self.narrow(self.leave_out(images.regions)), images.mask())

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Words (m, l, joint), their inner products (m, l, l), the mask (m, l)."""
        states, _ = self.reader(self.leave_out(self.words(texts.words)), texts.lengths)
        return self._coded(states, texts.mask())

    @staticmethod
    def _coded(rows: Tensor, mask: Tensor) -> Codes:
        items = unit(rows) * mask[..., None]
        return items, items @ items.transpose(1, 2), mask

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """The score of every image with every text, (n, m).

        Texts of similar length go together: padded to the longest of a batch, they would be mostly
        padding.
        """
        lengths = texts[2].sum(dim=1)
        order = lengths.argsort(stable=True)
        size = max(LOT, -(-len(order) // LOTS))
        lots = []
        for begin in range(0, len(order), size):
            rows = order[begin : begin + size]
            most = int(lengths[rows[-1]])
            items, products, real = (one[rows] for one in texts)
            lots.append(
                self._grid(images, (items[:, :most], products[:, :most, :most], real[:, :most]))
            )
        return torch.cat(lots, dim=1)[:, order.argsort()]

    def _grid(self, images: Codes, texts: Codes) -> Tensor:
        queries, contexts = (texts, images) if self.words_ask else (images, texts)
        b, q, d = queries[0].shape
        asked = queries[0].reshape(b * q, d).T
        step, attended = len(contexts[0]), self._attended
        if not torch.is_grad_enabled():
            step, attended = max(1, ROOM // (b * q * contexts[0].shape[1])), self._attended_in_place
        parts = []
        for begin in range(0, len(contexts[0]), step):
            some = tuple(one[begin : begin + step] for one in contexts)
            a, c, _ = some[0].shape
            similar = some[0].reshape(a * c, d) @ asked
            parts.append(attended(similar.view(a, c, b, q), some, queries[2][None]))
        grid = torch.cat(parts)
        return grid if self.words_ask else grid.T

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The score of text k with image k, (n,)."""
        queries, contexts = (texts, images) if self.words_ask else (images, texts)
        similar = contexts[0] @ queries[0].transpose(1, 2)
        return self._attended(similar[:, :, None], contexts, queries[2][:, None])[:, 0]

    def _attended(self, similar: Tensor, contexts: Codes, real: Tensor) -> Tensor:
        """Scores (a, b) from similarities (a, context items, b, queries).

        `contexts` has a rows; `real` marks the real queries, (a or 1, b, queries). Nothing is
        transposed, which would cost more than the arithmetic.
        """
        a, c, b, q = similar.shape
        clipped = functional.leaky_relu(similar, CLIP)
        # Padding queries have similarity 0 and add nothing to the length.
        temperature: float = self.config.temperature
        scaled = clipped * (temperature / (clipped.norm(dim=3, keepdim=True) + 1e-8))
        there = torch.zeros_like(contexts[2], dtype=scaled.dtype)
        there = there.masked_fill(~contexts[2], float("-inf"))[:, :, None, None]
        weights = (scaled + there).softmax(dim=1)
        mixed = (contexts[1] @ weights.reshape(a, c, b * q)).view(a, c, b, q)
        length = (mixed * weights).sum(dim=1).clamp(min=1e-12).sqrt()
        cosine = (weights * similar).sum(dim=1) / length
        factor: float = self.config.log_sum_exp
        pooled: Tensor = (factor * cosine).masked_fill(~real, float("-inf")).logsumexp(dim=-1)
        return pooled / factor

    def _attended_in_place(self, similar: Tensor, contexts: Codes, real: Tensor) -> Tensor:
        """The same scores without gradients, with fewer passes over the similarities.

        A cosine does not depend on the length of the attended vector, so the weights need not sum
        to 1; similarities scaled by the temperature are small enough to be exponentiated as is.
        """
        a, c, b, q = similar.shape
        weights = functional.leaky_relu(similar, CLIP)
        temperature: float = self.config.temperature
        scale = torch.linalg.vecdot(weights, weights).sqrt_().add_(1e-8).reciprocal_()
        weights.mul_(scale.mul_(temperature)[..., None]).exp_()
        if not contexts[2].all():
            weights.mul_(contexts[2][:, :, None, None])
        mixed = (contexts[1] @ weights.reshape(a, c, b * q)).view(a, c, b, q)
        length = mixed.mul_(weights).sum(dim=1).clamp_(min=1e-12).sqrt_()
        cosine = weights.mul_(similar).sum(dim=1).div_(length)
        factor: float = self.config.log_sum_exp
        pooled: Tensor = cosine.mul_(factor).masked_fill_(~real, float("-inf")).logsumexp(dim=-1)
        return pooled / factor


class ScanT2I(_Scan):
    """Stacked cross-attention: every word looks for its regions."""


class ScanI2T(_Scan):
    """Stacked cross-attention: every region looks for its words."""

    Config = ScanI2TConfig
    words_ask: ClassVar[bool] = False
