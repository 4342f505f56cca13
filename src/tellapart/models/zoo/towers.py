"""The two towers of `storybook`, and the pair of them as one module."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from tellapart.models.onnx import MOST_WORDS, PAD


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the towers. `channels` belong to the image tower's grids: 28, 14 and 7 wide."""

    channels: tuple[int, int, int] = (64, 128, 192)
    width: int = 192
    image_layers: int = 1
    text_layers: int = 2
    heads: int = 4
    dimensions: int = 192


class Layer(nn.Module):
    """A transformer layer (Vaswani et al. 2017, section 3, with the normalisation first).

    It is written out because it must be exported with a mask for padding.
    """

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.each = heads, width // heads
        self.before_mixing, self.before_thinking = nn.LayerNorm(width), nn.LayerNorm(width)
        self.asked_and_held = nn.Linear(width, 3 * width)
        self.mixed = nn.Linear(width, width)
        self.think = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> Tensor:
        """`x` (n, positions, width); `hidden` (n, positions) is True for padding."""
        split = self.asked_and_held(self.before_mixing(x))
        q, k, v = split.unflatten(2, (3, self.heads, self.each)).permute(2, 0, 3, 1, 4).unbind(0)
        fits = q @ k.transpose(-1, -2) / math.sqrt(self.each)
        if hidden is not None:
            fits = fits.masked_fill(hidden[:, None, None, :], -1e4)
        x = x + self.mixed((fits.softmax(-1) @ v).transpose(1, 2).flatten(2))
        thought: Tensor = x + self.think(self.before_thinking(x))
        return thought


class ImageTower(nn.Module):
    """Convolutions down to a 7 x 7 grid with positions, a transformer layer, a projection.

    Takes uint8 pixels (n, side, side, 3); returns rows of unit length.
    """

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        fine, middle, coarse = shape.channels
        # Large strides first: otherwise half of the time would go into the first, widest grid.
        self.grid = nn.Sequential(
            _convolution(3, fine, side=8, stride=4),
            _convolution(fine, middle, stride=2),
            Residual(_convolution(middle, middle)),
            _convolution(middle, coarse, stride=2),
            Residual(_convolution(coarse, coarse)),
        )
        self.widen = nn.Linear(coarse, shape.width)
        self.places = nn.Parameter(torch.randn(49, shape.width) * 0.02)
        self.layers = nn.ModuleList(
            Layer(shape.width, shape.heads) for _ in range(shape.image_layers)
        )
        self.last = nn.LayerNorm(shape.width)
        self.narrow = nn.Linear(shape.width, 32)
        self.project = nn.Linear(49 * 32, shape.dimensions)
        self.project_mean = nn.Linear(shape.width, shape.dimensions)

    def forward(self, pixels: Tensor) -> Tensor:
        """Embed pictures."""
        x = self.seen(pixels)
        row = self.project(self.narrow(x).flatten(1)) + self.project_mean(x.mean(1))
        return functional.normalize(row.float(), dim=-1)

    def seen(self, pixels: Tensor) -> Tensor:
        """The features of each cell: (n, 49, width)."""
        x = pixels.permute(0, 3, 1, 2).float() / 64 - 2
        grid = self.grid(x.contiguous(memory_format=torch.channels_last))
        x = self.widen(grid.flatten(2).transpose(1, 2)) + self.places
        for layer in self.layers:
            x = layer(x)
        seen: Tensor = self.last(x)
        return seen


class TextTower(nn.Module):
    """Word vectors with positions, transformer layers, and the mean over the words.

    Takes ids (n, words), 0 for padding; returns rows of unit length.
    """

    def __init__(self, shape: Shape, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, shape.width)
        self.places = nn.Parameter(torch.randn(MOST_WORDS, shape.width) * 0.02)
        nn.init.normal_(self.words.weight, std=0.05)
        self.layers = nn.ModuleList(
            Layer(shape.width, shape.heads) for _ in range(shape.text_layers)
        )
        self.last = nn.LayerNorm(shape.width)
        self.project = nn.Linear(shape.width, shape.dimensions)

    def forward(self, words: Tensor) -> Tensor:
        """Embed texts."""
        hidden = words == PAD
        x = self.words(words) + self.places[: words.shape[1]]
        for layer in self.layers:
            x = layer(x, hidden)
        here = (~hidden).unsqueeze(-1).to(x.dtype)
        mean = (self.last(x) * here).sum(1) / here.sum(1).clamp(min=1)
        return functional.normalize(self.project(mean).float(), dim=-1)


class Residual(nn.Module):
    """Adds a module's input to its output."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        """Apply."""
        result: Tensor = x + self.inner(x)
        return result


def _convolution(before: int, after: int, side: int = 3, stride: int = 1) -> nn.Module:
    convolution = nn.Conv2d(before, after, side, stride, (side - stride + 1) // 2, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU())


class Towers(nn.Module):
    """Both towers, and the scale that inner products are multiplied by before a softmax."""

    def __init__(self, shape: Shape, words: int) -> None:
        super().__init__()
        self.image, self.text = ImageTower(shape), TextTower(shape, words)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def scale(self) -> Tensor:
        """At most 100, as in CLIP (Radford et al. 2021, section 2.5)."""
        return self.log_scale.exp().clamp(max=100.0)
