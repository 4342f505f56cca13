"""Whole grids of scores: each image and text is encoded once, and codes are matched in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from tellapart.models.zoo.system import Codes, ImageInputs, System, TextInputs
from tellapart.types import Floats32, Ints, Progress, silent

IMAGES, TEXTS = 128, 512
"""How many of each are encoded at a time, and matched if a system can match that many pairs."""
PAIRS = 512
"""How many pairs of image and text are matched together: each holds its image's regions."""


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Codes of some images or texts, and their positions among all."""

    places: Ints
    codes: Codes


def image_blocks(
    system: System, count: int, take: Callable[[Ints], ImageInputs], size: int = IMAGES
) -> list[CodeBlock]:
    """The codes of images; `take` returns the features of some of them."""
    blocks = []
    with torch.inference_mode():
        for begin in range(0, count, size):
            places = np.arange(begin, min(begin + size, count))
            blocks.append(CodeBlock(places, system.encode_images(take(places))))
    return blocks


def text_blocks(
    system: System,
    words: Sequence[Sequence[int]],
    device: torch.device | str = "cpu",
    size: int = TEXTS,
) -> list[CodeBlock]:
    """The codes of texts; texts of similar length are batched together to save padding."""
    order = np.argsort([len(one) for one in words], kind="stable")
    blocks = []
    with torch.inference_mode():
        for begin in range(0, len(order), size):
            places = order[begin : begin + size]
            inputs = TextInputs.of([words[k] for k in places.tolist()], device)
            blocks.append(CodeBlock(places, system.encode_texts(inputs)))
    return blocks


def match_blocks(
    system: System,
    images: Sequence[CodeBlock],
    texts: Sequence[CodeBlock],
    progress: Progress = silent,
) -> Floats32:
    """The score of every image with every text."""
    n, m = (sum(len(block.places) for block in side) for side in (images, texts))
    scores, done = np.empty((n, m), np.float32), 0
    with torch.inference_mode():
        for left in images:
            for right in texts:
                high = max(1, system.most_pairs // len(right.places))
                for top in range(0, len(left.places), high):
                    codes = tuple(one[top : top + high] for one in left.codes)
                    block = system.match(codes, right.codes).float().cpu().numpy()
                    scores[np.ix_(left.places[top : top + high], right.places)] = block
                    done += block.size
                    progress("pairs", done, scores.size)
    return scores


def match_by_pairs(system: System, images: Codes, texts: Codes, size: int = PAIRS) -> Tensor:
    """How well each text fits each image, (n, m), for systems that only match pairs."""
    rows, columns = len(images[0]), len(texts[0])
    wide = max(1, min(columns, size))
    high = max(1, size // wide)
    lines = []
    for top in range(0, rows, high):
        some = torch.arange(top, min(top + high, rows), device=images[0].device)
        blocks = []
        for left in range(0, columns, wide):
            block = tuple(one[left : left + wide] for one in texts)
            count = len(block[0])
            pairs = tuple(one[some.repeat_interleave(count)] for one in images)
            again = torch.arange(count, device=some.device).repeat(len(some))
            scored = system.match_pairs(pairs, tuple(one[again] for one in block))
            blocks.append(scored.view(len(some), count))
        lines.append(torch.cat(blocks, dim=1))
    return torch.cat(lines)
