"""Obj+BiGRU: a bidirectional GRU reads the caption, and another the regions (BISON, section 4.2).

From the paper: both sides are sequences, words and region vectors, each read by a bidirectional
GRU; the cosine is the score. From the code it cites: widths as in ConvNet+BiGRU. Ours: a linear
layer with a ReLU narrows regions to `hidden` numbers before they are read, and the vector of an
image is always the mean of the states, because the order of regions (cells row by row, or boxes as
listed) makes the last one arbitrary; `pool` applies to the caption only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from tellapart.image_features.store import FeatureSpace
from tellapart.models.zoo.convnet_bigru import BiGRUConfig, CaptionReader
from tellapart.models.zoo.layers import BiGRU, linear, mean_rows, unit
from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.text.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class ObjConfig(BiGRUConfig):
    """As for ConvNet+BiGRU; `hidden` is the width at which regions are read."""


class ObjBiGRU(System):
    """A bidirectional GRU reads the caption, another the regions; cosine."""

    Config = ObjConfig
    dual: ClassVar[bool] = True

    def __init__(self, config: ObjConfig, vocabulary: Vocabulary, space: FeatureSpace) -> None:
        super().__init__(config, vocabulary, space)
        self.text = CaptionReader(len(vocabulary), config)
        self.narrow = nn.Sequential(
            linear(space.region_width, config.hidden), nn.ReLU(), nn.Dropout(config.dropout)
        )
        self.reader = BiGRU(config.hidden, config.joint)

    def encode_images(self, images: ImageInputs) -> Codes:
        """Unit vectors, (n, joint)."""
        states, _ = self.reader(self.narrow(images.regions), images.counts)
        return (unit(mean_rows(states, images.mask())),)

    def encode_texts(self, texts: TextInputs) -> Codes:
        """Unit vectors, (m, joint)."""
        return (self.text(texts),)
