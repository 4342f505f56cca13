"""Clusters for statistics: items that are connected through shared images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from tellapart.items import Item


def groups(items: Sequence[Item]) -> list[str]:
    """The name of each item's cluster: the smallest image id that it is connected to.

    Items that share an image are not independent, nor are two that are linked by a chain of
    others (Winoground pairs, BISON's neighbours); statistics resample whole clusters. Two parts
    of one picture (`7#crop=0,0,64,48` and another) share it.
    """
    if not items:
        return []
    names = sorted({_picture(image) for item in items for image in item.images})
    place = {name: index for index, name in enumerate(names)}
    rows = [index for index, item in enumerate(items) for _ in item.images]
    columns = [place[_picture(image)] for item in items for image in item.images]
    shape = (len(items) + len(names),) * 2
    links = coo_matrix((np.ones(len(rows)), (rows, np.add(columns, len(items)))), shape=shape)
    _, labels = connected_components(links, directed=False)
    smallest: dict[int, str] = {}
    for name, label in zip(names, labels[len(items) :], strict=True):
        smallest.setdefault(int(label), name)
    return [smallest[int(label)] for label in labels[: len(items)]]


def _picture(image: str) -> str:
    """The id of the whole picture that an image is, or is a part of."""
    return image.partition("#crop=")[0]
