"""Splits: parts of a corpus that share no image.

A split by caption would put an image on both sides (Ding et al. 2016, footnote 2; pitfall 14).
"""

from __future__ import annotations

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.mine.captions import Captions, Ints

EXAMPLE = "train:0.8,dev:0.1,test:0.1 (shares of the images), or dev:2000,test:2000,train:rest"


def split_of_images(captions: Captions, spec: str, seed: int) -> tuple[list[str], Ints]:
    """The names of the splits, and for each image the number of its own (-1 for none).

    >>> five = Captions((), (), tuple("abcde"), np.zeros(0, np.int32))
    >>> names, number = split_of_images(five, "dev:2,train:rest", 0)
    >>> names, sorted(number.tolist())
    (['dev', 'train'], [0, 0, 1, 1, 1])
    """
    total = len(captions.images)
    wanted = _wanted(spec, total)
    # By a number that each image has for itself: most stay in their split when others join.
    lots = [seeds.unit(seed, "mcic", "split", image) for image in captions.images]
    order = np.argsort(lots)
    number = np.full(total, -1, np.int32)
    first = 0
    for k, size in enumerate(wanted.values()):
        number[order[first : first + size]] = k
        first += size
    return list(wanted), number


def _wanted(spec: str, total: int) -> dict[str, int]:
    """How many images each split gets; shares are cut so that all of them are given out."""
    parts = [part.partition(":") for part in spec.split(",") if part.strip()]
    shares: dict[str, float] = {}
    rest = ""
    for name, _, text in ((n.strip(), mark, t.strip()) for n, mark, t in parts):
        if not name.isidentifier() or name in shares:
            raise BadInput(f"a split cannot be called {name!r}", allowed=f"a name once: {EXAMPLE}")
        try:
            shares[name] = 0.0 if text == "rest" else float(text)
        except ValueError:
            shares[name] = -1.0
        if not 0 <= shares[name] <= total or (text == "rest" and rest):
            raise BadInput(f"the split {name} cannot have {text!r} of the images", allowed=EXAMPLE)
        rest = name if text == "rest" else rest
    sizes = _sizes(shares, total)
    if rest:
        sizes[rest] = total - sum(sizes.values())
    if min(sizes.values(), default=0) < 1 or sum(sizes.values()) > total:
        raise BadInput(
            f"{total:,} images cannot be split into {spec}",
            allowed=f"at least one image each and no more than there are: {EXAMPLE}",
        )
    return sizes


def _sizes(shares: dict[str, float], total: int) -> dict[str, int]:
    """Shares below or at 1 as numbers of images, by cumulative rounding; others as they are."""
    sizes, reached, given = {}, 0.0, 0
    for name, share in shares.items():
        if share > 1 or share == 0:
            sizes[name] = int(share)
            continue
        reached += share
        sizes[name] = round(reached * total) - given
        given += sizes[name]
    return sizes
