"""How probable foil captions are to a model that sees the picture.

Shekhar et al. 2017, section 3, step 4, with any model that scores pairs: the log-likelihood of a
captioner is what the paper means.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.mine.foil.foils import Foils
from tellapart.models.model import PairScorer
from tellapart.score.cache import default_folder, is_cacheable, open_shelf
from tellapart.score.computing import Asker, Limits, ModelFailed
from tellapart.score.encoding import Encoder
from tellapart.score.plan import content_hash, pair_keys, text_keys
from tellapart.text.language.trigrams import Floats
from tellapart.text.parsing.parsed import Ints

BATCH = 64


class ByModel:
    """A model's scores of foils, one image at a time; kept in the cache as all scores are."""

    def __init__(self, foils: Foils, encoder: Encoder, asker: Asker) -> None:
        self._foils, self._encoder, self._asker = foils, encoder, asker

    def __call__(self, rows: Ints) -> Floats:
        """The scores of some foils of one image."""
        image, _ = self._foils.source(int(rows[0]))
        picture = self._foils.corpus.picture(image)
        texts = [self._foils.put(row).text for row in rows.tolist()]
        keys = pair_keys(
            np.frombuffer(content_hash(picture) * len(texts), np.uint64), text_keys(texts)
        )
        scores = np.empty(len(rows))
        for part in self._encoder.pairs(self._asker, [0] * len(texts), [picture], texts, keys):
            if part.bad or not np.isfinite(part.rows).all():
                name = self._encoder.model.facts.name
                what = f"{name} gives image {image} a score that is no number"
                raise next(iter(part.bad.values()), ModelFailed(what))
            scores[part.batch.places] = part.rows[:, 0]
        return scores


@contextmanager
def by_model(foils: Foils, model: Any) -> Iterator[ByModel]:
    """The scores of a model that can say how probable a caption is for an image."""
    if not isinstance(model, PairScorer) or hasattr(model, "prepare"):
        raise BadInput(
            f"{model.facts.name} cannot say how probable a caption is for an image",
            allowed="a model that scores pairs of picture and text by itself, such as a captioner",
            todo="see: tellapart list models",
        )
    shelf = open_shelf(default_folder(), model.facts) if is_cacheable(model) else None
    encoder = Encoder(model, Limits(BATCH), shelf)
    try:
        yield ByModel(foils, encoder, encoder.asker("pairs"))
    finally:
        if shelf:
            shelf.close()
