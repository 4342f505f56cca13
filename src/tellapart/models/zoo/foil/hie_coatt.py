"""HieCoAtt: image and caption attend to each other, level by level (Lu et al. 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.foil.classifier import FoilClassifier
from tellapart.models.zoo.layers import Standardised, keep_variance, linear, word_vectors
from tellapart.models.zoo.system import Codes, ImageInputs, TextInputs
from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class HieCoAttConfig:
    """One width everywhere, and dropout; `scaled` as in `ClassifierConfig`, for region features."""

    width: int = 512
    dropout: float = 0.5
    scaled: bool = False


class GuidedAttention(nn.Module):
    """A mixture of rows, weighted with a guide: A(X; g) of Lu et al. (2016), equation 5."""

    def __init__(self, width: int, *, guided: bool) -> None:
        super().__init__()
        self.of_rows = linear(width, width)
        self.of_guide = linear(width, width) if guided else None
        # No bias: adding one number to all weights would change nothing.
        self.weight = nn.Linear(width, 1, bias=False)

    def forward(self, rows: Tensor, there: Tensor, guide: Tensor | None = None) -> Tensor:
        """The mixture (n, d) of rows (n, r, d); only rows marked in `there` count."""
        seen = self.of_rows(rows)
        if self.of_guide is not None:
            seen = seen + self.of_guide(guide)[:, None]
        fits = self.weight(torch.tanh(seen)).squeeze(-1)
        weights = fits.masked_fill(~there, float("-inf")).softmax(-1)
        return torch.bmm(weights[:, None], rows).squeeze(1)


class AlternatingAttention(nn.Module):
    """Caption, then image guided by it, then caption guided by the image (section 3.3)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.summary = GuidedAttention(width, guided=False)
        self.looking = GuidedAttention(width, guided=True)
        self.reading = GuidedAttention(width, guided=True)

    def forward(self, seen: Tensor, seen_there: Tensor, said: Tensor, said_there: Tensor) -> Tensor:
        """The sum of the attended image and caption, (n, d)."""
        image = self.looking(seen, seen_there, self.summary(said, said_there))
        text = self.reading(said, said_there, image)
        added: Tensor = image + text
        return added


class HieCoAtt(FoilClassifier):
    """Alternating co-attention over words, phrases and the sentence, combined recursively.

    From the paper: the alternating version of Lu et al. (2016), three levels, combined recursively
    to a distribution over foil and correct. From the cited paper: phrases are the maximum of
    convolutions over one, two and three words (section 3.2), the sentence is an LSTM over phrases,
    and levels are combined by equation 7. From the cited code: 512 everywhere, dropout 0.5, tanh
    after the projection of regions. Ours: the initial weights.
    """

    Config = HieCoAttConfig
    needs_regions: ClassVar[bool] = True

    def __init__(self, config: HieCoAttConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        width = config.width
        self.dropout = nn.Dropout(config.dropout)
        self.of_regions = linear(space.region_width, width)
        self.words = word_vectors(len(vocabulary), width)
        self.phrases = nn.ModuleList(nn.Conv1d(width, width, size) for size in (1, 2, 3))
        self.sentence = nn.LSTM(width, width, batch_first=True)
        self.attend = nn.ModuleList(AlternatingAttention(width) for _ in range(3))
        self.combine = nn.ModuleList(linear(size * width, width) for size in (1, 2, 2))
        self.decide_by(width)
        self.standard = Standardised(space.region_width) if config.scaled else nn.Identity()
        if config.scaled:
            keep_variance(self)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Regions in the width of all levels, and which are real."""
        there = images.mask()
        regions = torch.zeros_like(images.regions)
        regions[there] = self.standard(images.regions[there])
        return self.dropout(torch.tanh(self.of_regions(regions))), there

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Words, phrases and sentence states, (n, longest, d) each, and which are real."""
        there = texts.mask()
        words = self.dropout(torch.tanh(self.words(texts.words)))
        words = words * there[..., None]  # so that a phrase at the end sees no padding
        columns = words.transpose(1, 2)
        # Padding for windows of one word, two (with the previous) and three (one on either side).
        sides = ((0, 0), (1, 0), (1, 1))
        grams = [
            conv(nn.functional.pad(columns, side))
            for conv, side in zip(self.phrases, sides, strict=True)
        ]
        phrases = torch.tanh(torch.stack(grams).amax(0)).transpose(1, 2)
        phrases = self.dropout(phrases)
        states, _ = self.sentence(phrases)  # unidirectional, so padding after the end has no effect
        return words, phrases, self.dropout(states), there

    def joint(self, images: Codes, texts: Codes) -> Tensor:
        """The vector of the sentence level, which includes the levels below."""
        (regions, seen_there), (*levels, said_there) = images, texts
        found: Tensor | None = None
        for attend, combine, level in zip(self.attend, self.combine, levels, strict=True):
            both = self.dropout(attend(regions, seen_there, level, said_there))
            found = torch.tanh(combine(both if found is None else torch.cat([both, found], dim=1)))
        assert found is not None
        joint: Tensor = self.dropout(found)
        return joint
