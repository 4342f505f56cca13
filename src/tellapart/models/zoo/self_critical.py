"""Self-critical training: captions better than the greedy one become more likely (SCST).

Rennie et al. (2017): REINFORCE with the reward of the captioner's own greedy caption as baseline,
starting from a captioner trained by cross-entropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.models.zoo.captioner import RecurrentCaptioner
from tellapart.models.zoo.decoding import (
    MARK,
    Tensors,
    drawn,
    likeliest,
    roll_out,
    rows_of,
    written,
)
from tellapart.models.zoo.system import ImageInputs
from tellapart.text.caption_metrics.cider import CiderReward
from tellapart.types import Floats, Ints

ENDED = "</s>"
"""The word that stands for the end of a caption in rewards."""


@dataclass(frozen=True, slots=True)
class SelfCritical:
    """The loss of SCST; images are given by their positions in the references.

    The reward is CIDEr-D with document frequencies of the training references (BISON and the code
    it cites call it CIDEr). From that code: five samples per image, and the end of a caption counts
    as a word, in references, too, since captions otherwise learn to break off ("a man on a"). Ours:
    neither sampling nor gradient uses dropout, so that the rewarded caption comes from the
    distribution that is trained.
    """

    reward: CiderReward
    vocabulary: Sequence[str]
    samples: int = 5
    longest: int = 20

    @classmethod
    def of(
        cls,
        references: Sequence[Sequence[Sequence[str]]],
        vocabulary: Sequence[str],
        samples: int = 5,
        longest: int = 20,
    ) -> SelfCritical:
        """From the words of each training image's captions; `vocabulary[class]` is a word."""
        texts = [[_joined(words) for words in own] for own in references]
        return cls(CiderReward.of(texts), vocabulary, samples, longest)

    def loss(
        self, model: RecurrentCaptioner, images: ImageInputs, places: Sequence[int], chances: Tensor
    ) -> Tensor:
        """Minus the advantage times the log-probability of each sampled word, averaged over words.

        `chances` (images x samples, longest) are the random numbers that choose the words.
        """
        training = model.training
        model.eval()
        try:
            seen = model.encode_images(images)
            captions, advantages = self.advantages(model, seen, places, chances)
            owner = torch.arange(len(places), device=captions.device)
            scores, words, there = model.scores(
                captions, rows_of(seen, owner.repeat_interleave(self.samples))
            )
        finally:
            model.train(training)
        logs = written(scores).log_softmax(-1).gather(-1, words[:, None]).squeeze(1)
        # In a caption cut at the longest length, the end was not chosen.
        chosen = (there.cumsum(1) <= self.longest)[there]
        weights = advantages[:, None].expand(there.shape)[there].to(logs)
        return -(logs * weights)[chosen].sum() / chosen.sum()

    @torch.no_grad()
    def advantages(
        self, model: RecurrentCaptioner, seen: Tensors, places: Sequence[int], chances: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Sampled captions (images x samples, longest), and their advantage over the greedy one."""
        rows = len(places) * self.samples
        every = torch.arange(len(places), device=chances.device)
        # Sampled and greedy captions go through the network together.
        together = rows_of(seen, torch.cat([every.repeat_interleave(self.samples), every]))
        random = drawn(chances, 1.0)

        def choose(scores: Tensor, step: int) -> Tensor:
            return torch.cat([random(scores[:rows], step), likeliest(scores[rows:], step)])

        captions = roll_out(model, together, choose, self.longest)
        of = np.asarray(places, np.int64)
        rewards = self.rewards(captions, np.concatenate([of.repeat(self.samples), of]))
        gained = rewards[:rows] - rewards[rows:].repeat(self.samples)
        return captions[:rows], torch.as_tensor(gained, device=chances.device)

    def rewards(self, captions: Tensor, places: Ints) -> Floats:
        """CIDEr-D of captions (n, longest) against the references at these positions."""
        texts = []
        for row in captions.tolist():
            ended = row.index(MARK) if MARK in row else len(row)
            words = [self.vocabulary[word] for word in row[:ended]]
            texts.append(_joined(words) if ended < len(row) else " ".join(words))
        return self.reward.rewards(texts, places)


def _joined(words: Sequence[str]) -> str:
    return " ".join([*words, ENDED])
