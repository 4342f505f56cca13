"""Vec2seq+FFNN: learns to write captions and to choose among them (Ding et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.captioner import CaptionerConfig, RecurrentCaptioner
from tellapart.models.zoo.decoding import MARK, Tensors
from tellapart.models.zoo.layers import Standardised, linear, steady_cells
from tellapart.models.zoo.mcic.ffnn import WORDS, YesNoHead
from tellapart.models.zoo.recurrence import TOGETHER, Steps, unrolled
from tellapart.models.zoo.system import Codes, ImageInputs, TextInputs
from tellapart.text.vocabulary import Vocabulary

LAYERS = 2


@dataclass(frozen=True, slots=True)
class Vec2seqConfig(CaptionerConfig):
    """The paper's sizes at 256: states and vectors, and the hidden layers of the yes/no head.

    `blind` sets every image vector to zero.
    """

    width: int = 256
    hidden: int = 64
    hidden2: int = 16
    dropout: float = 0.0
    blind: bool = False


def unbiased(width: int) -> nn.Linear:
    """A square linear layer without a bias, because another layer has it."""
    layer = nn.Linear(width, width, bias=False)
    nn.init.xavier_uniform_(layer.weight)
    return layer


class Vec2seqFFNN(RecurrentCaptioner):
    """An image is encoded by one cell, a caption by a decoder; an FFNN reads both outputs.

    Ding et al. (2016), section 4.3 and figure 3: two GRU layers, one attention state that stands
    for the whole image, the concatenated outputs of encoder and decoder as the input of two hidden
    ReLU layers and a softmax over no and yes; the decoder's outputs also predict the next word.
    Attention over one state gives that state whatever the weights, so there are no weights to
    learn: the encoder's output goes into every step of the decoder. Captions are cut at 30 words.
    Ours: how that state enters (one linear layer joins it with a word's vector, another with the
    decoder's state, as in the sequence-to-sequence code of that time); the outputs after a
    caption's end count as zero.

    Also ours is the scale of what goes in, of which the paper says nothing: image features are
    centred and scaled to variance 1, word vectors have variance 1, and the cells' first weights
    keep it. From features as they come, words of +-0.1 and torch's own first weights, which shrink
    a vector in every cell, training did not find the image (docs/mcic-systems.md).
    """

    Config = Vec2seqConfig
    task: ClassVar[str] = "yes-no-writing"
    needs_regions: ClassVar[bool] = False
    averaged: ClassVar[bool] = False
    config: Vec2seqConfig

    def __init__(self, config: Vec2seqConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.image = nn.Sequential(
            Standardised(space.whole_width), linear(space.whole_width, width)
        )
        self.encoder = nn.GRU(width, width, LAYERS, batch_first=True)
        steady_cells(self.encoder)
        self.words = nn.Embedding(self.classes, width)
        nn.init.uniform_(self.words.weight, -(3**0.5), 3**0.5)  # variance 1
        self.join_word, self.join_image = unbiased(width), linear(width, width)
        self.decoder = nn.GRU(width, width, LAYERS, batch_first=True)
        steady_cells(self.decoder)
        self.output_state, self.output_image = unbiased(width), linear(width, width)
        self.out = linear(width, self.classes)
        read = (WORDS + 1) * width
        self.head = YesNoHead(width, read, config.hidden, config.hidden2, config.dropout)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The states of the encoder's layers after its one cell; the last is its output."""
        whole = torch.zeros_like(images.whole) if self.config.blind else images.whole
        _, states = self.encoder(self.dropout(self.image(whole))[:, None])
        return tuple(states)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """The first words of captions as rows of classes."""
        (captions,) = super().encode_texts(texts)
        return (captions[:, :WORDS],)

    def begin(self, seen: Tensors) -> Tensors:
        """The decoder starts from the encoder's final states."""
        return seen

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """One step of the decoder."""
        inputs = self.join_word(vectors) + self.join_image(seen[-1])
        states, last = self.decoder(inputs[:, None], torch.stack(memory))
        return self.output_state(states[:, 0]) + self.output_image(seen[-1]), tuple(last)

    def unroll(self, vectors: Tensor, lengths: Tensor, seen: Tensors) -> Tensor:
        """All steps in one call; only real words are processed, and padding is zero."""
        steps = Steps.of(lengths, vectors.shape[1])
        inputs = self.join_word(steps.taken(vectors)) + self.join_image(seen[-1])[steps.row]
        states = unrolled(self.decoder, inputs, steps, torch.stack(seen))
        outputs = self.output_state(states) + self.output_image(seen[-1])[steps.row]
        return steps.spread(outputs, vectors.shape[1])

    def read(self, captions: Tensor, seen: Tensors) -> tuple[Tensor, Tensor]:
        """The decoder's outputs (n, longest + 1, width) at words and end, and their mask."""
        before = functional.pad(captions, (1, 0), value=MARK)
        lengths = (captions != MARK).sum(1) + 1
        there = torch.arange(before.shape[1], device=captions.device) < lengths[:, None]
        return self.unroll(self._vectors(before), lengths, seen), there

    def judge(self, outputs: Tensor, seen: Tensors) -> Tensor:
        """Scores of no and yes, (n, 2), from the decoder's outputs."""
        kept = functional.pad(outputs, (0, 0, 0, WORDS + 1 - outputs.shape[1])).flatten(1)
        of_image = self.head.of_image(self.dropout(seen[-1]))
        scores: Tensor = self.head(of_image, self.head.of_text(self.dropout(kept)))
        return scores

    def writing_loss(self, outputs: Tensor, there: Tensor, captions: Tensor) -> Tensor:
        """The cross-entropy of each caption's words and end, summed, (n,), from the outputs."""
        words = functional.pad(captions, (0, 1), value=MARK)[there]
        more = -len(words) % TOGETHER  # rows that are not counted
        scores = self.out(self.dropout(functional.pad(outputs[there], (0, 0, 0, more))))
        words = functional.pad(words, (0, more), value=MARK)
        losses = functional.cross_entropy(scores.float(), words, reduction="none")
        filled = losses.new_zeros(there.shape)
        return filled.masked_scatter(there, losses[: len(losses) - more]).sum(1)

    def match_pairs(self, images: Codes, texts: Codes) -> Tensor:
        """The log-odds that caption k fits image k."""
        scores = self.judge(self.read(texts[0], images)[0], images)
        return scores[:, 1] - scores[:, 0]
