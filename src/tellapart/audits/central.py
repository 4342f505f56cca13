"""The middle of the options: decoys that were chosen for being near a caption are near it alone."""

from __future__ import annotations

import numpy as np

from tellapart.audits.cues import Guesser
from tellapart.audits.sheet import Floats, Sheet
from tellapart.text.central import nearness_to_others


def nearness(sheet: Sheet) -> Floats:
    """For each cell the mean cosine (tf-idf) of its caption with the item's other captions.

    Of two captions each is as near to the other. Captions with an edit score 0.
    """
    scores = np.zeros(len(sheet.text))
    plain = np.array([edit == "" for edit in sheet.edit], dtype=bool)
    if plain.any():
        grid = sheet.item[plain] * (int(sheet.image.max()) + 1) + sheet.image[plain]
        _, group = np.unique(grid, return_inverse=True)
        scores[plain] = nearness_to_others(sheet.texts, sheet.text[plain], group)
    return scores


CENTRAL = Guesser(
    "middle of the options", "nearest to the other options", "farthest from the other options",
    "caption", nearness,
)  # fmt: skip
