"""Features of any pictures: from stores if they are there, else computed on demand."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tellapart.errors import BadInput
from tellapart.image_features.backbones import Backbone, backbone_of
from tellapart.image_features.extract import grid_cells
from tellapart.image_features.store import HALF, FeatureSpace, FeatureStore, ImageArrays
from tellapart.pictures import Picture

CELLS = re.compile(r"cells (\d+)x\1$")


@dataclass(frozen=True)
class FeatureSource:
    """Features of one space; stores are searched by the hash of a picture's bytes."""

    space: FeatureSpace
    stores: tuple[FeatureStore, ...] = ()

    def take(self, pictures: Sequence[Picture], *, regions: bool = True) -> ImageArrays:
        """The features of some pictures, one row per picture."""
        hashes = [picture.stored_sha256() for picture in pictures]
        found: list[ImageArrays | None] = [self._stored(sha256, regions) for sha256 in hashes]
        missing = [k for k, one in enumerate(found) if one is None]
        if missing:
            made = self._computed([pictures[k] for k in missing])
            for place, k in enumerate(missing):
                part = slice(place, place + 1)
                found[k] = ImageArrays(made.whole[part], made.regions[part], made.counts[part])
        return joined([one for one in found if one is not None], self.space, regions)

    def _stored(self, sha256: str, regions: bool) -> ImageArrays | None:
        for store in self.stores:
            row = store.by_content.get(sha256)
            if row is not None:
                return store.take([row], regions=regions)
        return None

    @cached_property
    def backbone(self) -> Backbone:
        """The network that computed the space, checked by its weights."""
        if CELLS.search(self.space.layout) is None:
            raise BadInput(
                f"these features ({self.space.layout}) cannot be computed from a picture",
                allowed="pictures whose features are stored",
                todo="name their stores in the model string: MODEL?features=FOLDER",
            )
        backbone = backbone_of(self.space.backbone)
        facts = backbone.facts
        if (facts.weights, facts.preprocessing) != (self.space.weights, self.space.preprocessing):
            raise BadInput(
                f"{self.space.backbone} has changed since the features were computed",
                allowed=f"weights {self.space.weights[:12]}, not {facts.weights[:12]}",
                todo="install the version used then, or train again",
            )
        return backbone

    def _computed(self, pictures: Sequence[Picture]) -> ImageArrays:
        backbone, match = self.backbone, CELLS.search(self.space.layout)
        assert match is not None
        whole, maps = backbone.describe([picture.open() for picture in pictures])
        rows = grid_cells(maps, int(match[1]))
        counts = np.full(len(rows), rows.shape[1])
        return ImageArrays(np.asarray(whole, HALF), np.asarray(rows, HALF), counts)


def joined(parts: Sequence[ImageArrays], space: FeatureSpace, regions: bool) -> ImageArrays:
    """Features of several sets of images as one, padded to the largest number of regions."""
    whole = np.concatenate([one.whole for one in parts])
    counts = np.concatenate([one.counts for one in parts])
    if not regions:
        return ImageArrays(whole, np.empty((len(whole), 0, 0), HALF), counts)
    most = max(one.regions.shape[1] for one in parts)
    if all(one.regions.shape[1] == most for one in parts):
        return ImageArrays(whole, np.concatenate([one.regions for one in parts]), counts)
    padded = np.zeros((len(whole), most, space.region_width), HALF)
    begin = 0
    for one in parts:
        padded[begin : begin + len(one.whole), : one.regions.shape[1]] = one.regions
        begin += len(one.whole)
    return ImageArrays(whole, padded, counts)


def check_spaces(stores: Sequence[FeatureStore]) -> FeatureSpace:
    """The common space of stores; raises if they do not match."""
    first = stores[0].space
    for store in stores[1:]:
        if store.space.key != first.key:
            raise BadInput(
                f"the features in {store.folder} differ in kind from the first store's",
                where=str(Path(store.folder) / "features.json"),
                allowed=f"{first.backbone}, {first.layout}; not {store.space.backbone}, "
                f"{store.space.layout}",
                todo="compute both with the same backbone, cells and boxes",
            )
    return first
