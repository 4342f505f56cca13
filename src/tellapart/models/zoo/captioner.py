"""What recurrent captioners share: how they are trained, and how likely a caption is.

A caption is a row of word ids. `MARK` starts it, ends it and fills up what is behind its end, as in
the code that BISON's authors cite; `UNKNOWN` stands for every word that the vocabulary lacks. It is
a word with a probability of its own: a caption never gets likelier because a word is not known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

MARK, UNKNOWN = 0, 1
"""The ids of the mark and of unknown words; the words of the vocabulary follow."""
BLOCK = 512
"""Pairs of an image and a caption that are scored together: each holds its image's regions."""

Tensors = tuple[Tensor, ...]
"""What is known of images, or remembered of captions: each tensor has a row for each of them."""


class SeenImages(NamedTuple):
    """Features of images: the whole (n, d), regions (n, r, d), and which of these there are."""

    whole: Tensor
    regions: Tensor
    there: Tensor


def rows_of(tensors: Tensors, places: Tensor) -> Tensors:
    """Some rows of each tensor."""
    return tuple(one[places] for one in tensors)


class RecurrentCaptioner(nn.Module, ABC):
    """Writes word by word: an image is seen once, and a memory goes from word to word.

    A captioner sets `words` (the vectors of words) and `out` (from its state to a score for each
    word), and says how it sees, begins and advances. `per_word` is whether its loss is averaged
    over words, or summed over a caption's words and averaged over captions.
    """

    words: nn.Embedding
    out: nn.Linear
    per_word = True

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)

    @abstractmethod
    def see(self, images: SeenImages) -> Tensors:
        """What decoding needs of each image, computed once however many captions are scored."""

    @abstractmethod
    def begin(self, seen: Tensors) -> Tensors:
        """The memory before the first word; a row for each row of `seen`."""

    @abstractmethod
    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """One step: vectors (n, e) of the words before give states (n, h), and the new memory."""

    def unroll(self, vectors: Tensor, lengths: Tensor, seen: Tensors) -> Tensor:
        """The states (n, steps, h) of captions whose words are known; rows go on for `lengths`.

        The longest captions are put first, so that each step has only the rows that go on.
        """
        order = torch.argsort(lengths, descending=True, stable=True)
        going = (lengths[:, None] > torch.arange(vectors.shape[1], device=lengths.device)).sum(0)
        vectors, seen = vectors[order], rows_of(seen, order)
        memory = self.begin(seen)
        states: list[Tensor] = []
        for step, count in enumerate(going.tolist()):
            if not count:  # no caption is as long as the rows have room for
                states.append(torch.zeros_like(states[0]))
                continue
            if count < len(memory[0]):
                memory, seen = (tuple(one[:count] for one in part) for part in (memory, seen))
            state, memory = self.advance(vectors[:count, step], memory, seen)
            states.append(functional.pad(state, (0, 0, 0, len(order) - count)))
        return torch.stack(states, dim=1)[torch.argsort(order)]

    def step(self, words: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """Scores (n, words) of the next word, given the one before; and the new memory."""
        state, memory = self.advance(self._vectors(words), memory, seen)
        return self.out(self.dropout(state)), memory

    def _vectors(self, words: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(self.words(words))
        return vectors

    def scores(self, captions: Tensor, seen: Tensors) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of all words at each place of captions (n, longest), for rows of `seen` alike.

        Returns them for the places that there are, one after another (places, words), with the word
        that stands at each, and where the places are: (n, longest + 1), a caption's words and end.
        """
        start = captions.new_full((len(captions), 1), MARK)
        before, after = torch.cat([start, captions], 1), torch.cat([captions, start], 1)
        lengths = (captions != MARK).sum(1) + 1
        there = torch.arange(before.shape[1], device=captions.device) < lengths[:, None]
        states = self.unroll(self._vectors(before), lengths, seen)
        # Scores of ten thousand words are the largest part of the work: none for padding.
        return self.out(self.dropout(states[there])), after[there], there

    def loss(self, images: SeenImages, captions: Tensor, owner: Tensor) -> Tensor:
        """Cross-entropy of captions (n, longest), each of the image at its place in `owner`."""
        scores, words, _ = self.scores(captions, rows_of(self.see(images), owner))
        if self.per_word:
            return functional.cross_entropy(scores, words)
        return functional.cross_entropy(scores, words, reduction="sum") / len(captions)

    def word_log_probabilities(self, captions: Tensor, seen: Tensors) -> Tensor:
        """Of each word of captions, then of their ends: (n, longest + 1), 0 behind the end."""
        scores, words, there = self.scores(captions, seen)
        # Sums of log-probabilities decide between near misses: they are taken in 64 bits.
        chosen = scores.double().log_softmax(-1).gather(-1, words[:, None]).squeeze(-1)
        filled = torch.zeros(there.shape, dtype=chosen.dtype, device=chosen.device)
        return filled.masked_scatter(there, chosen)

    def log_likelihood(self, captions: Tensor, seen: Tensors, *, per_word: bool = False) -> Tensor:
        """Of whole captions with their ends (n,); `per_word` divides by the words and the end."""
        total = self.word_log_probabilities(captions, seen).sum(1)
        return total / ((captions != MARK).sum(1) + 1) if per_word else total

    def grid(self, captions: Tensor, seen: Tensors, *, per_word: bool = False) -> Tensor:
        """The log-likelihood of every caption under every image: (images, captions)."""
        images, texts = len(seen[0]), len(captions)
        # Captions of like length together: a block takes as many steps as its longest has words.
        order = torch.argsort((captions != MARK).sum(1), stable=True)
        found = torch.empty(images, texts, dtype=torch.float64, device=captions.device)
        step = max(1, BLOCK // max(1, images))
        some = max(1, min(images, BLOCK))
        for first in range(0, texts, step):
            columns = order[first : first + step]
            block = captions[columns]
            block = block[:, : max(1, int((block != MARK).sum(1).max()))]
            for top in range(0, images, some):
                rows = torch.arange(top, min(top + some, images), device=captions.device)
                pairs = rows_of(seen, rows.repeat_interleave(len(columns)))
                scored = self.log_likelihood(block.repeat(len(rows), 1), pairs, per_word=per_word)
                found[rows[:, None], columns] = scored.view(len(rows), -1)
        return found


class LSTMCaptioner(RecurrentCaptioner):
    """A captioner that sees the image once, as the first input of its LSTM, before the first word.

    Vinyals et al. (2015), Show and Tell, section 3.1, and the code of Karpathy and Fei-Fei (2015),
    NeuralTalk, share this design; sizes and training differ.
    """

    def __init__(self, inputs: int, words: int, width: int, dropout: float) -> None:
        super().__init__(dropout)
        self.image = nn.Linear(inputs, width)
        self.words = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, words)

    def see(self, images: SeenImages) -> Tensors:
        """The image as a vector of words' size."""
        return (self.dropout(self.image(images.whole)),)

    def begin(self, seen: Tensors) -> Tensors:
        """What the LSTM remembers of the image."""
        empty = torch.zeros_like(seen[0][:, : self.lstm.hidden_size])
        return self.advance(seen[0], (empty, empty), seen)[1]

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """One step of the LSTM."""
        held = tuple(one[None].contiguous() for one in memory)
        state, (hidden, cell) = self.lstm(vectors[:, None], held)
        return state[:, 0], (hidden[0], cell[0])

    def unroll(self, vectors: Tensor, lengths: Tensor, seen: Tensors) -> Tensor:
        """All steps in one call; what the LSTM makes of padding is not looked at."""
        states, _ = self.lstm(torch.cat([seen[0][:, None], vectors], dim=1))
        behind_image: Tensor = states[:, 1:]
        return behind_image


class RegionAttention(nn.Module):
    """A mixture of regions, weighed by a small network that knows the captioner's state.

    The weight of a region is softmax over w . tanh(V region + H state) (Xu et al. 2015, section
    3.1.2; Anderson et al. 2018, equation 5). Regions that are not there weigh nothing.
    """

    def __init__(self, regions: int, state: int, hidden: int) -> None:
        super().__init__()
        self.of_regions = nn.Linear(regions, hidden)
        self.of_state = nn.Linear(state, hidden)
        self.weight = nn.Linear(hidden, 1)

    def keys(self, regions: Tensor) -> Tensor:
        """What regions (n, r, d) bring to the weights (n, r, hidden), the same at every step."""
        keys: Tensor = self.of_regions(regions)
        return keys

    def forward(self, state: Tensor, regions: Tensor, keys: Tensor, there: Tensor) -> Tensor:
        """The mixture (n, d) for states (n, h)."""
        fits = self.weight(torch.tanh(keys + self.of_state(state)[:, None])).squeeze(-1)
        weights = fits.masked_fill(~there, float("-inf")).softmax(-1)
        return torch.bmm(weights[:, None], regions).squeeze(1)
