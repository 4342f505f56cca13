"""Paragraph vectors of captions, for systems that need those of captions they never saw."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from tellapart.models.zoo.system import TextInputs
from tellapart.text.gensim_vectors import ParagraphOptions, train_paragraph_words
from tellapart.text.vocabulary import PAD

STEPS, MOMENTUM, RATE = 20, 0.8, 1.6
"""How a caption's vector is climbed to; the rate is for outputs of unit mean square length."""
POWER = 0.75
"""Words to tell a text from are drawn by their counts to this power (Mikolov et al. 2013)."""
BLOCK = 512
"""Captions whose vectors are found together."""


class ParagraphVectors(nn.Module):
    """PV-DBOW (Le and Mikolov 2014, section 2.3): a caption's vector predicts its words.

    How words are predicted is learned from training captions, by gensim with negative sampling. The
    vector of any caption, a training caption too, is then found by steps up the expected value of
    that objective, from zero: nothing is drawn, so that a caption has one vector, whatever was
    asked before. `remember` keeps the vectors of captions that will be asked for many times.
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
        """Learn from captions, as numbers of words; words that none of them has predict nothing."""
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
        """Find the vectors of captions once; those that are known already are left as they are."""
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
        """Climb, with momentum (Nesterov 1983)."""
        outputs, noise = self.outputs, self.negative * self.noise
        # PAD, which fills captions up, is counted at no place.
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
