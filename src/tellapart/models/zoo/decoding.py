"""Captions written word by word: the likeliest word, the likeliest caption, or random words.

A caption is a row of classes, which are the vocabulary's numbers from the end mark on. `MARK`
starts a caption, ends it and pads it after its end, as in the code that BISON's authors cite;
`UNSEEN` stands for every word that is not in the vocabulary. It has a probability of its own, so
that an unknown word never makes a caption more likely, but it is never written.

A caption has at most `longest` words; at that length its end is certain, so that the score of every
caption is its log-likelihood including the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from tellapart.text.vocabulary import END, UNKNOWN

MARK, UNSEEN = 0, UNKNOWN - END
Tensors = tuple[Tensor, ...]
"""Encodings of images, or memories of captions: each tensor has one row for each of them."""
Choose = Callable[[Tensor, int], Tensor]
"""Maps scores (n, words) of the next word and the step's number to one word per row (n,)."""


class Stepwise(Protocol):
    """The part of a captioner that decoding needs."""

    def begin(self, seen: Tensors) -> Tensors:
        """The memory before the first word, one row per row of `seen`."""

    def step(self, words: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """Scores (n, classes) of the next word, given the previous one, and the new memory."""


def rows_of(tensors: Tensors, places: Tensor) -> Tensors:
    """Some rows of each tensor."""
    return tuple(one[places] for one in tensors)


def written(scores: Tensor) -> Tensor:
    """Scores of next words without the class for unknown words."""
    barred = torch.zeros_like(scores[0], dtype=torch.bool)
    barred[UNSEEN] = True
    return scores.masked_fill(barred, float("-inf"))


def roll_out(model: Stepwise, seen: Tensors, choose: Choose, longest: int) -> Tensor:
    """Captions (n, longest), one per row of `seen`, each word chosen from its step's scores."""
    rows = len(seen[0])
    captions = torch.full((rows, longest), MARK, dtype=torch.long, device=seen[0].device)
    words, memory = captions.new_full((rows,), MARK), model.begin(seen)
    going = torch.ones_like(words, dtype=torch.bool)
    for step in range(longest):
        scores, memory = model.step(words, memory, seen)
        words = choose(written(scores), step) * going
        captions[:, step] = words
        going &= words != MARK
        if not going.any():
            break
    return captions


def likeliest(scores: Tensor, step: int) -> Tensor:
    """The likeliest next word."""
    return scores.argmax(-1)


def drawn(chances: Tensor, temperature: float = 1.0) -> Choose:
    """Random next words: `chances[k, t]`, in [0, 1), decides the word of row k at step t.

    The numbers come from the caller, so that an image's sample does not depend on its batch.
    """

    def choose(scores: Tensor, step: int) -> Tensor:
        sums = (scores.double() / temperature).softmax(-1).cumsum(-1)
        aims = chances[:, step : step + 1].to(sums) * sums[:, -1:]
        # The first word whose cumulative sum is above: a word of probability 0 is never chosen.
        return torch.searchsorted(sums, aims, right=True).squeeze(1)

    return choose


@torch.no_grad()
def greedy(model: Stepwise, seen: Tensors, longest: int) -> Tensor:
    """The likeliest word at each step: captions (n, longest)."""
    return roll_out(model, seen, likeliest, longest)


@torch.no_grad()
def sample(model: Stepwise, seen: Tensors, chances: Tensor, temperature: float = 1.0) -> Tensor:
    """Random captions, one per row of `chances` (n, longest)."""
    return roll_out(model, seen, drawn(chances, temperature), chances.shape[1])


@torch.no_grad()
def beam_search(model: Stepwise, seen: Tensors, beams: int, longest: int) -> tuple[Tensor, Tensor]:
    """The likeliest captions found by beam search, (n, beams, longest), best first.

    Also returns their log-likelihoods (n, beams). Each step keeps the best `beams` of all
    continuations of the captions kept so far, including finished ones. There is no length penalty,
    as in the code that BISON cites. A beam of one gives the greedy caption; a beam as wide as the
    number of captions is an exhaustive search. If there are fewer captions than beams, the rest
    score -inf.
    """
    images = len(seen[0])
    captions = torch.full((images, 1, 0), MARK, dtype=torch.long, device=seen[0].device)
    totals = torch.zeros(images, 1, dtype=torch.float64, device=seen[0].device)
    going = torch.ones_like(totals, dtype=torch.bool)
    words, memory = captions.new_full((images,), MARK), model.begin(seen)
    wide = seen
    for step in range(longest + 1):
        scores, memory = model.step(words, memory, wide)
        next_words = written_log_probabilities(scores, last=step == longest)
        next_words = next_words.view(images, -1, scores.shape[-1])
        # A finished caption continues only with the mark, at no cost.
        ended = torch.full_like(next_words[:1, :1], float("-inf"))
        ended[..., MARK] = 0.0
        sums = totals[..., None] + torch.where(going[..., None], next_words, ended)
        kept = min(beams, sums[0].numel())
        totals, places = sums.flatten(1).topk(kept, dim=1)
        parents, chosen = places // scores.shape[-1], places % scores.shape[-1]
        captions = torch.cat([_of_parents(captions, parents), chosen[..., None]], dim=2)
        going = going.gather(1, parents) & (chosen != MARK)
        before = len(words) // images
        first = torch.arange(images, device=parents.device)[:, None] * before
        memory = rows_of(memory, (first + parents).flatten())
        if kept != before:  # all beams of an image see the same, so only their number matters
            every = torch.arange(images, device=parents.device).repeat_interleave(kept)
            wide = rows_of(seen, every)
        words = chosen.flatten()
        if not going.any():
            break
    return _padded(captions[:, :, :longest], longest, beams), _filled(totals, beams)


def written_log_probabilities(scores: Tensor, *, last: bool = False) -> Tensor:
    """Log-probabilities of the words that may come next; at the last step, only the end."""
    logs = written(scores.double().log_softmax(-1))
    if last:
        ends = torch.full_like(logs, float("-inf"))
        ends[:, MARK] = logs[:, MARK]
        return ends
    return logs


def _of_parents(captions: Tensor, parents: Tensor) -> Tensor:
    return captions.gather(1, parents[..., None].expand(-1, -1, captions.shape[2]))


def _padded(captions: Tensor, longest: int, beams: int) -> Tensor:
    room = (0, longest - captions.shape[2], 0, beams - captions.shape[1])
    return torch.nn.functional.pad(captions, room, value=MARK)


def _filled(totals: Tensor, beams: int) -> Tensor:
    return torch.nn.functional.pad(totals, (0, beams - totals.shape[1]), value=float("-inf"))
