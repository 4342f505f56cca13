"""How probable foil captions are to a model that sees the picture.

Shekhar et al. 2017, section 3, step 4, with any model that scores pairs: the log-likelihood of a
captioner is what the paper means.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tellapart.errors import BadInput
from tellapart.mine.building import Progress
from tellapart.mine.foil.foils import Foils
from tellapart.models.model import PairScorer
from tellapart.score.cache import default_folder, is_cacheable, open_shelf
from tellapart.score.computing import Limits, ModelFailed
from tellapart.score.encoding import Encoder
from tellapart.score.plan import content_hash, pair_keys, text_keys
from tellapart.text.trigrams import Floats

BATCH = 64


def model_scores(foils: Foils, model: Any, progress: Progress) -> Floats:
    """A model's score for each foil with its image; kept in the cache as all scores are."""
    if not isinstance(model, PairScorer) or hasattr(model, "prepare"):
        raise BadInput(
            f"{model.facts.name} cannot say how probable a caption is for an image",
            allowed="a model that scores pairs of picture and text by itself, such as a captioner",
            todo="see: tellapart list models",
        )
    shelf = open_shelf(default_folder(), model.facts) if is_cacheable(model) else None
    encoder = Encoder(model, Limits(BATCH), shelf)
    scores = np.empty(len(foils.rows))
    image = foils.image[foils.caption]
    order = np.argsort(image, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(image[order])) + 1) if len(order) else []
    asker = encoder.asker("pairs")
    try:
        for done, rows in enumerate(parts, 1):
            picture = foils.corpus.picture(foils.images[int(image[rows[0]])])
            texts = [foils.put(int(row)).text for row in rows]
            keys = pair_keys(
                np.frombuffer(content_hash(picture) * len(texts), np.uint64), text_keys(texts)
            )
            for part in encoder.pairs(asker, [0] * len(texts), [picture], texts, keys):
                if part.bad or not np.isfinite(part.rows).all():
                    what = f"{model.facts.name} gives image {picture.id} a score that is no number"
                    raise next(iter(part.bad.values()), ModelFailed(what))
                scores[rows[part.batch.places]] = part.rows[:, 0]
            progress(done, len(parts))
    finally:
        if shelf:
            shelf.close()
    return scores
