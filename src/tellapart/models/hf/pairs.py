"""What pair scorers over transformers share: each picture seen once, no text ever padded."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tellapart.models.torch_tools import chunks
from tellapart.pictures import Picture

if TYPE_CHECKING:
    import torch

IMAGES, PAIRS = 16, 32


def alike(keys: Sequence[Hashable], size: int = PAIRS) -> Iterator[list[int]]:
    """Places with equal keys together, `size` at most: texts of one length need no padding.

    >>> list(alike([3, 2, 3, 3], size=2))
    [[0, 2], [3], [1]]
    """
    groups: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        groups.setdefault(key, []).append(place)
    for group in groups.values():
        for part in chunks(len(group), size):
            yield [group[k] for k in part]


def seen_once(
    pictures: Sequence[Picture], image_processor: Any, see: Callable[[Any], torch.Tensor]
) -> dict[str, torch.Tensor]:
    """What the vision tower makes of each distinct picture, by id."""
    distinct = list({picture.id: picture for picture in pictures}.values())
    seen: dict[str, torch.Tensor] = {}
    for part in chunks(len(distinct), IMAGES):
        some = [distinct[k] for k in part]
        pixels = image_processor(images=[p.open() for p in some], return_tensors="pt").pixel_values
        seen |= dict(zip([p.id for p in some], see(pixels), strict=True))
    return seen


def token_ids(tokenizer: Any, texts: Sequence[str], length: int) -> list[list[int]]:
    """The tokens of each text with the tokenizer's own marks of beginning and end, cut short."""
    read = tokenizer(list(texts), truncation=True, max_length=length) if texts else None
    return [list(ids) for ids in read.input_ids] if read is not None else []


def log_probabilities(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The log-probability of each target token, shape (n, tokens); float64, as sums saturate."""
    chosen = logits.double().log_softmax(dim=-1).gather(-1, targets.unsqueeze(-1))
    return chosen.squeeze(-1)
