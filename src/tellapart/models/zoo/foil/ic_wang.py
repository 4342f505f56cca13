"""IC-Wang: a captioner that reads in both directions (Wang et al. 2016; Shekhar et al. 2017)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from tellapart.image_features.store import FeatureSpace
from tellapart.models.caption_writer import Decoding
from tellapart.models.zoo.captioner import CaptionerConfig, RecurrentCaptioner
from tellapart.models.zoo.decoding import MARK, UNSEEN, Tensors, rows_of
from tellapart.models.zoo.system import Codes, ImageInputs, Minibatch
from tellapart.text.vocabulary import END, Vocabulary

TOGETHER = 1024
"""How many changed captions are scored at a time."""
LOT, LOTS = 40, 2
"""Captions are read in at most this many groups, with at least this many each; one group for all
would be a third padding."""
UNOPPOSED = 1.0
"""The margin of a caption whose words are all the captioner's own proposals."""


class OneWay(RecurrentCaptioner):
    """One direction: an LSTM reads words, a second one reads its states with the image."""

    needs_regions: ClassVar[bool] = False

    def __init__(
        self, config: CaptionerConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.image = nn.Linear(space.whole_width, width)
        self.words = nn.Embedding(self.classes, width)
        self.text = nn.LSTM(width, width, batch_first=True)
        self.multimodal = nn.LSTM(2 * width, width, batch_first=True)
        self.out = nn.Linear(width, self.classes)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The image in the width of the states."""
        return (torch.tanh(self.image(images.whole)),)

    def begin(self, seen: Tensors) -> Tensors:
        """Two empty memories."""
        empty = torch.zeros_like(seen[0])
        return empty, empty, empty, empty

    def advance(self, vectors: Tensor, memory: Tensors, seen: Tensors) -> tuple[Tensor, Tensors]:
        """One step of both LSTMs."""
        held = tuple(one[None].contiguous() for one in memory)
        read, first = self.text(vectors[:, None], held[:2])
        both = torch.cat([read, seen[0][:, None]], dim=2)
        state, second = self.multimodal(both, held[2:])
        return state[:, 0], tuple(one[0] for one in (*first, *second))

    def unroll(self, vectors: Tensor, lengths: Tensor, seen: Tensors) -> Tensor:
        """All steps of captions, in groups of similar length; outputs for padding are ignored."""
        order, longest = lengths.argsort(stable=True), vectors.shape[1]
        lots = []
        for rows in torch.split(order, max(LOT, -(-len(order) // LOTS))):
            most = int(lengths[rows[-1]])
            read, _ = self.text(vectors[rows, :most])
            beside = seen[0][rows, None].expand(-1, most, -1)
            states, _ = self.multimodal(torch.cat([read, beside], dim=2))
            lots.append(nn.functional.pad(states, (0, 0, 0, longest - most)))
        return torch.cat(lots)[order.argsort()]


class ICWang(RecurrentCaptioner):
    """Two captioners in one, forwards and backwards, whose losses are added.

    From the paper (FOIL, section 4.1, after Wang et al. 2016): a text LSTM, a multimodal LSTM that
    joins its states with the image, and separate layers for the two directions. From the cited
    paper: losses are added, and the likelier of the two directions' captions is chosen. Ours:
    widths of 512; tanh after the image's projection; the log-likelihood of a caption is the mean of
    both directions'. FOIL's procedures (`margins`, `replaced`) need the word that the captioner
    itself proposes for a position. The paper does not define it; ours is the word with the highest
    sum of both directions' log-probabilities, never an unknown word.
    """

    needs_regions: ClassVar[bool] = False

    def __init__(
        self, config: CaptionerConfig, vocabulary: Vocabulary, space: FeatureSpace
    ) -> None:
        super().__init__(config, vocabulary, space)
        self.ahead = OneWay(config, vocabulary, space)
        self.back = OneWay(config, vocabulary, space)

    def encode_images(self, images: ImageInputs) -> Codes:
        """The image as each direction sees it."""
        return (*self.ahead.encode_images(images), *self.back.encode_images(images))

    def forward(self, batch: Minibatch) -> Tensor:
        """The cross-entropy of both directions, added."""
        seen = rows_of(self.encode_images(batch.images), batch.owner)
        (captions,) = self.encode_texts(batch.texts)
        loss: Tensor = torch.zeros((), device=captions.device)
        for way, own, text in self._ways(captions, seen):
            scores, words, _ = way.scores(text, own)
            loss = loss + nn.functional.cross_entropy(scores, words)
        return loss

    def _ways(self, captions: Tensor, seen: Tensors) -> list[tuple[OneWay, Tensors, Tensor]]:
        """Each direction with its image code and the captions in its reading order."""
        return [
            (self.ahead, seen[:1], captions),
            (self.back, seen[1:], turned(captions)),
        ]

    def word_log_probabilities(self, captions: Tensor, seen: Tensors) -> Tensor:
        """For each word, then the end, the mean of both directions: (n, longest + 1)."""
        each = [way.word_log_probabilities(text, own)
                for way, own, text in self._ways(captions, seen)]  # fmt: skip
        lengths = (captions != MARK).sum(1)
        back = torch.cat([turned_rows(each[1][:, :-1], lengths), each[1][:, -1:] * 0], dim=1)
        ends = each[1].gather(1, lengths[:, None])
        return (each[0] + back.scatter(1, lengths[:, None], ends)) / 2

    def proposals(self, captions: Tensor, seen: Tensors) -> Tensor:
        """The captioner's proposal for each position, (n, longest).

        It is the word that both directions together find likeliest, given all other words; after
        the end of a caption it is `MARK`.
        """
        lengths = (captions != MARK).sum(1)
        total: Tensor | None = None
        for number, (way, own, text) in enumerate(self._ways(captions, seen)):
            scores, _, there = way.scores(text, own)
            filled = scores.new_zeros(*there.shape, self.classes)
            filled[there] = scores.float().log_softmax(-1)
            words = filled[:, :-1]
            words = turned_rows(words, lengths) if number else words
            total = words if total is None else total + words
        assert total is not None
        total[..., [MARK, UNSEEN]] = float("-inf")
        return total.argmax(-1).masked_fill(captions == MARK, MARK)

    def margins(self, images: Codes, texts: Codes) -> Tensor:
        """How much likelier caption k is than its best variant with one proposal, (n,).

        FOIL's T1 for a captioner: above 0 the caption is right, because no single proposal makes it
        likelier. A proposal equal to the word itself is no objection; a caption without any
        objection has the margin `UNOPPOSED`.
        """
        (captions,) = texts
        proposed = self.proposals(captions, images)
        row, place = torch.nonzero(proposed != captions, as_tuple=True)
        own = self.log_likelihood(captions, images)
        found = self._changed(captions, images, row, place, proposed[row, place])
        best = torch.full_like(own, float("-inf")).scatter_reduce(0, row, found, "amax")
        return torch.where(best.isinf(), torch.full_like(own, UNOPPOSED), own - best)

    def replaced(self, images: Codes, texts: Codes, places: list[list[int]]) -> Tensor:
        """The log-likelihood of caption k with the proposals at places[k], (n,).

        Minus infinity if the proposals equal the words, which is no objection.
        """
        (captions,) = texts
        proposed, changed = self.proposals(captions, images), captions.clone()
        for k, own in enumerate(places):
            changed[k, own] = proposed[k, own]
        found = self.log_likelihood(changed, images)
        return found.masked_fill((changed == captions).all(1), float("-inf"))

    def _changed(
        self, captions: Tensor, seen: Tensors, row: Tensor, place: Tensor, words: Tensor
    ) -> Tensor:
        """The log-likelihood of captions, each with one word changed."""
        found = []
        for begin in range(0, len(row), TOGETHER):
            some = slice(begin, begin + TOGETHER)
            changed = captions[row[some]].clone()
            changed[torch.arange(len(changed)), place[some]] = words[some]
            found.append(self.log_likelihood(changed, rows_of(seen, row[some])))
        return torch.cat(found) if found else torch.empty(0, dtype=torch.float64)

    def write(self, images: ImageInputs, how: Decoding, chances: Tensor | None = None) -> Tensor:
        """The likelier of the two directions' captions."""
        ahead = self.ahead.write(images, how, chances) - END
        back = turned(self.back.write(images, how, chances) - END)
        longest = max(ahead.shape[1], back.shape[1])
        ahead, back = (
            nn.functional.pad(one, (0, longest - one.shape[1]), value=MARK) for one in (ahead, back)
        )
        with torch.inference_mode():
            seen = self.encode_images(images)
            likelier = self.ahead.log_likelihood(ahead, seen[:1]) >= self.back.log_likelihood(
                turned(back), seen[1:]
            )
        return torch.where(likelier[:, None], ahead, back) + END


def turned(captions: Tensor) -> Tensor:
    """Captions (n, longest) reversed; padding stays at the end."""
    return turned_rows(captions, (captions != MARK).sum(1))


def turned_rows(rows: Tensor, lengths: Tensor) -> Tensor:
    """The first `lengths` entries of each row in reverse, (n, longest, ...)."""
    places = torch.arange(rows.shape[1], device=rows.device).expand(len(rows), -1)
    back = torch.where(places < lengths[:, None], lengths[:, None] - 1 - places, places)
    return rows[torch.arange(len(rows), device=rows.device)[:, None], back]
