"""The base of recurrent captioners: training, the likelihood of a caption, and writing.

Internally, a caption is a row of classes (see `decoding`): the vocabulary's numbers from the end
mark on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.errors import BadInput
from tellapart.image_features.store import FeatureSpace
from tellapart.models.caption_writer import Decoding
from tellapart.models.zoo.decoding import MARK, Tensors, beam_search, greedy, rows_of, sample
from tellapart.models.zoo.grids import PAIRS, match_by_pairs
from tellapart.models.zoo.system import Codes, ImageInputs, Minibatch, System, TextInputs
from tellapart.text.vocabulary import END, Vocabulary

REDUCES = ("mean", "sum")


@dataclass(frozen=True, slots=True)
class CaptionerConfig:
    """Widths, dropout, and the definition of a score.

    `reduce` is `mean`, the log-likelihood of a caption per word (including the end), or `sum`, of
    the whole caption. Both rank images for a caption alike; among captions `sum` prefers short
    ones.
    """

    width: int = 512
    attention: int = 512
    dropout: float = 0.5
    reduce: str = "mean"


class RecurrentCaptioner(System):
    """Writes word by word: an image is encoded once, and a memory passes from word to word.

    A captioner sets `words` (the word vectors) and `out` (maps its state to a score for each word),
    and defines `encode_images`, `begin` and `advance`. `averaged` says whether its loss is a mean
    over words, or a sum over a caption's words averaged over captions.
    """

    Config = CaptionerConfig
    task: ClassVar[str] = "captioning"
    averaged: ClassVar[bool] = True
    most_pairs: ClassVar[int] = 4 * PAIRS
    words: nn.Embedding
    out: nn.Linear

    def __init__(
        self, config: CaptionerConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        if config.reduce not in REDUCES:
            raise BadInput(f"reduce={config.reduce}", allowed=" or ".join(REDUCES))
        super().__init__(config, vocabulary, space)
        self.dropout = nn.Dropout(config.dropout)

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.vocabulary) - END

    def begin(self, seen: Tensors) -> Tensors:
        """The memory before the first word, one row per row of `seen`."""
        raise NotImplementedError

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """One step: from vectors (n, e) of the previous words to states (n, h) and new memory."""
        raise NotImplementedError

    def unroll(self, vectors: Tensor, lengths: Tensor, seen: Tensors) -> Tensor:
        """The states (n, steps, h) of captions with known words; row k has `lengths[k]` steps.

        The longest captions come first, so that each step processes only the rows that continue.
        """
        order = torch.argsort(lengths, descending=True, stable=True)
        going = (lengths[:, None] > torch.arange(vectors.shape[1], device=lengths.device)).sum(0)
        vectors, seen = vectors[order], rows_of(seen, order)
        memory = self.begin(seen)
        states: list[Tensor] = []
        for step, count in enumerate(going.tolist()):
            if not count:  # no caption is as long as the rows
                states.append(torch.zeros_like(states[0]))
                continue
            if count < len(memory[0]):
                memory, seen = (tuple(one[:count] for one in part) for part in (memory, seen))
            state, memory = self.advance(vectors[:count, step], memory, seen)
            states.append(functional.pad(state, (0, 0, 0, len(order) - count)))
        return torch.stack(states, dim=1)[torch.argsort(order)]

    def step(self, words: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """Scores (n, classes) of the next word, given the previous one, and the new memory."""
        state, memory = self.advance(self._vectors(words), memory, seen)
        return self._word_scores(state), memory

    def _word_scores(self, states: Tensor) -> Tensor:
        """Scores of all words, in full precision even if the rest is not."""
        scores: Tensor = self.out(self.dropout(states))
        return scores.float()

    def _vectors(self, words: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(self.words(words))
        return vectors

    def scores(self, captions: Tensor, seen: Tensors) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of all words at each position of captions (n, longest), one row of `seen` each.

        Returns the scores at the real positions, concatenated (positions, classes), the word at
        each, and the mask of real positions (n, longest + 1): a caption's words and end.
        """
        mark = captions.new_full((len(captions), 1), MARK)
        before, after = torch.cat([mark, captions], 1), torch.cat([captions, mark], 1)
        lengths = (captions != MARK).sum(1) + 1
        there = torch.arange(before.shape[1], device=captions.device) < lengths[:, None]
        # Dropout, and scoring ten thousand words, are much of the work, so padding is skipped.
        read = self._vectors(before[there])
        vectors = read.new_zeros(*there.shape, read.shape[-1]).index_put((there,), read)
        states = self.unroll(vectors, lengths, seen)
        return self._word_scores(states[there]), after[there], there

    def forward(self, batch: Minibatch) -> Tensor:
        """The cross-entropy of the captions of a batch, each given its own image."""
        seen = rows_of(self.encode_images(batch.images), batch.owner)
        captions = self.encode_texts(batch.texts)[0]
        scores, words, _ = self.scores(captions, seen)
        if self.averaged:
            return functional.cross_entropy(scores, words)
        return functional.cross_entropy(scores, words, reduction="sum") / len(captions)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Captions as rows of classes."""
        return ((texts.words - END).clamp(min=MARK),)

    def word_log_probabilities(self, captions: Tensor, seen: Tensors) -> Tensor:
        """For each word of captions, then their ends: (n, longest + 1), 0 after the end."""
        scores, words, there = self.scores(captions, seen)
        chosen = scores.gather(-1, words[:, None]).squeeze(-1) - scores.logsumexp(-1)
        # Sums decide between near misses, so they are computed in 64 bits.
        filled = torch.zeros(there.shape, dtype=torch.float64, device=chosen.device)
        return filled.masked_scatter(there, chosen.double())

    def log_likelihood(self, captions: Tensor, seen: Tensors) -> Tensor:
        """The log-likelihood of whole captions with their ends, (n,)."""
        return self.word_log_probabilities(captions, seen).sum(1)

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The log-likelihood of caption k given image k, by `reduce`."""
        (captions,) = texts
        total = self.log_likelihood(captions, images)
        if self.config.reduce == "sum":
            return total
        return total / ((captions != MARK).sum(1) + 1)

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """The score of every caption with every image, in blocks."""
        return match_by_pairs(self, images, texts)

    def write(self, images: ImageInputs, how: Decoding, chances: Tensor | None = None) -> Tensor:
        """Captions of images in the vocabulary's numbers, (n, longest), each followed by an end.

        `chances` (n, longest) are the random numbers for sampling.
        """
        with torch.inference_mode():
            seen = self.encode_images(images)
            if how.method == "sample":
                assert chances is not None
                return sample(self, seen, chances, how.temperature) + END
            if how.method == "greedy":
                return greedy(self, seen, how.longest) + END
            return beam_search(self, seen, how.beams, how.longest)[0][:, 0] + END


class LSTMCaptioner(RecurrentCaptioner):
    """A captioner that sees the image once, as the first input of its LSTM, before the first word.

    Vinyals et al. (2015), Show and Tell, section 3.1, and the code of Karpathy and Fei-Fei (2015),
    NeuralTalk, share this design; sizes and training differ.
    """

    needs_regions: ClassVar[bool] = False

    def __init__(
        self, config: CaptionerConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.image = nn.Linear(space.whole_width, width)
        self.words = nn.Embedding(self.classes, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, self.classes)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The image as a vector of the words' width."""
        return (self.dropout(self.image(images.whole)),)

    def begin(self, seen: Tensors) -> Tensors:
        """The LSTM's memory after the image."""
        empty = torch.zeros_like(seen[0])
        return self.advance(seen[0], (empty, empty), seen)[1]

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """One step of the LSTM."""
        held = tuple(one[None].contiguous() for one in memory)
        state, (hidden, cell) = self.lstm(vectors[:, None], held)
        return state[:, 0], (hidden[0], cell[0])

    def unroll(self, vectors: Tensor, lengths: Tensor, seen: Tensors) -> Tensor:
        """All steps in one call; the outputs for padding are ignored."""
        states, _ = self.lstm(torch.cat([seen[0][:, None], vectors], dim=1))
        behind_image: Tensor = states[:, 1:]
        return behind_image


class RegionAttention(nn.Module):
    """A mixture of regions, weighted by a small network that sees the captioner's state.

    The weight of a region is softmax over w . tanh(V region + H state) (Xu et al. 2015, section
    3.1.2; Anderson et al. 2018, equation 5). Padding has weight 0.
    """

    def __init__(self, regions: int, state: int, hidden: int) -> None:
        super().__init__()
        self.of_regions = nn.Linear(regions, hidden)
        self.of_state = nn.Linear(state, hidden)
        # No bias: adding one number to all weights would change nothing.
        self.weight = nn.Linear(hidden, 1, bias=False)

    def keys(self, regions: Tensor) -> Tensor:
        """The regions' part (n, r, hidden) of the weights, the same at every step."""
        keys: Tensor = self.of_regions(regions)
        return keys

    def forward(self, state: Tensor, regions: Tensor, keys: Tensor, there: Tensor) -> Tensor:
        """The mixture (n, d) for states (n, h)."""
        fits = self.weight(torch.tanh(keys + self.of_state(state)[:, None])).squeeze(-1)
        weights = fits.masked_fill(~there, float("-inf")).softmax(-1)
        return torch.bmm(weights[:, None], regions).squeeze(1)
