"""What recurrent captioners share: training, how likely a caption is, and writing.

Inside, a caption is a row of classes (see `decoding`): the vocabulary's words from the end mark on.
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
    """Widths, the share of units left out while training, and what a score is.

    `reduce` is `mean`, the log-likelihood of a caption by its words and end, or `sum`, of it all.
    Between images of one caption they decide alike; between captions `sum` prefers short ones.
    """

    width: int = 512
    attention: int = 512
    dropout: float = 0.5
    reduce: str = "mean"


class RecurrentCaptioner(System):
    """Writes word by word: an image is seen once, and a memory goes from word to word.

    A captioner sets `words` (the vectors of words) and `out` (from its state to a score for each
    word), and says how it sees (`encode_images`), begins and advances. `averaged` is whether its
    loss is a mean over words, or a sum over a caption's words that is averaged over captions.
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
        """How many classes there are."""
        return len(self.vocabulary) - END

    def begin(self, seen: Tensors) -> Tensors:
        """The memory before the first word; a row for each row of `seen`."""
        raise NotImplementedError

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """One step: vectors (n, e) of the words before give states (n, h), and the new memory."""
        raise NotImplementedError

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
        """Scores (n, classes) of the next word, given the one before; and the new memory."""
        state, memory = self.advance(self._vectors(words), memory, seen)
        return self._word_scores(state), memory

    def _word_scores(self, states: Tensor) -> Tensor:
        """Scores of all words, in full precision even where the rest is not."""
        scores: Tensor = self.out(self.dropout(states))
        return scores.float()

    def _vectors(self, words: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(self.words(words))
        return vectors

    def scores(self, captions: Tensor, seen: Tensors) -> tuple[Tensor, Tensor, Tensor]:
        """Scores of all words at each place of captions (n, longest), for rows of `seen` alike.

        Returns them for the places that there are, one after another (places, classes), with the
        word at each, and where the places are: (n, longest + 1), a caption's words and end.
        """
        mark = captions.new_full((len(captions), 1), MARK)
        before, after = torch.cat([mark, captions], 1), torch.cat([captions, mark], 1)
        lengths = (captions != MARK).sum(1) + 1
        there = torch.arange(before.shape[1], device=captions.device) < lengths[:, None]
        states = self.unroll(self._vectors(before), lengths, seen)
        # Scores of ten thousand words are the largest part of the work: none for padding.
        return self._word_scores(states[there]), after[there], there

    def forward(self, batch: Minibatch) -> Tensor:
        """The cross-entropy of the captions of a batch, each of its own image."""
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
        """Of each word of captions, then of their ends: (n, longest + 1), 0 behind the end."""
        scores, words, there = self.scores(captions, seen)
        chosen = scores.gather(-1, words[:, None]).squeeze(-1) - scores.logsumexp(-1)
        # Sums decide between near misses: they are taken in 64 bits.
        filled = torch.zeros(there.shape, dtype=torch.float64, device=chosen.device)
        return filled.masked_scatter(there, chosen.double())

    def log_likelihood(self, captions: Tensor, seen: Tensors) -> Tensor:
        """Of whole captions with their ends (n,)."""
        return self.word_log_probabilities(captions, seen).sum(1)

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The log-likelihood of caption k as one of image k, by `reduce`."""
        (captions,) = texts
        total = self.log_likelihood(captions, images)
        if self.config.reduce == "sum":
            return total
        return total / ((captions != MARK).sum(1) + 1)

    def match(self, images: Codes, texts: Codes) -> Tensor:
        """The score of every caption with every image, in blocks."""
        return match_by_pairs(self, images, texts)

    def write(self, images: ImageInputs, how: Decoding, chances: Tensor | None = None) -> Tensor:
        """Captions of images in the vocabulary's numbers, (n, longest), an end behind each.

        `chances` (n, longest) are the random numbers that samples are drawn by.
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
        """The image as a vector of words' size."""
        return (self.dropout(self.image(images.whole)),)

    def begin(self, seen: Tensors) -> Tensors:
        """What the LSTM remembers of the image."""
        empty = torch.zeros_like(seen[0])
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
        # Without a bias: one number added to all weights would change nothing.
        self.weight = nn.Linear(hidden, 1, bias=False)

    def keys(self, regions: Tensor) -> Tensor:
        """What regions (n, r, d) bring to the weights (n, r, hidden), the same at every step."""
        keys: Tensor = self.of_regions(regions)
        return keys

    def forward(self, state: Tensor, regions: Tensor, keys: Tensor, there: Tensor) -> Tensor:
        """The mixture (n, d) for states (n, h)."""
        fits = self.weight(torch.tanh(keys + self.of_state(state)[:, None])).squeeze(-1)
        weights = fits.masked_fill(~there, float("-inf")).softmax(-1)
        return torch.bmm(weights[:, None], regions).squeeze(1)
