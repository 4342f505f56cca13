"""The attack on pictures: which picture is the right one, without the caption.

Statistics of the files (`image_guessers.py`), and the features of a frozen encoder if one is named,
go into the same attackers that read captions. In a 2 x 2 grid the question is which image is the
original; together with the attack on captions this answers whole grids (`together`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from tellapart.attack.attack import FEW, Attackers, TextAttack
from tellapart.attack.choices import Choices, image_choices
from tellapart.attack.features import IMAGE_ENCODER, IMAGE_STATISTICS, Features
from tellapart.audits.detectors import frozen_encoder
from tellapart.audits.guessers import Guesser
from tellapart.audits.image_guessers import STATISTICS, PictureStatistics
from tellapart.audits.sheet import GuessSheet
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.score.encoder import open_encoder
from tellapart.score.plan import distinct_images
from tellapart.store.cache import default_folder
from tellapart.types import Floats, Progress, silent


def attack_pictures(
    benchmark: Benchmark,
    looked: PictureStatistics,
    encoder: Any = "",
    *,
    resamples: int,
    seed: int = 0,
    progress: Progress = silent,
) -> TextAttack | None:
    """Attack the choices among images; None if there are too few to learn from.

    `encoder` is a model (or its name) that embeds images.
    """
    choices = image_choices(looked.items)
    if len(choices) < FEW:
        return None
    features = _statistics(choices, looked)
    source = "statistics of the pictures"
    if encoder:
        model = frozen_encoder(encoder)
        rows = _embedded(benchmark, choices, model, progress)
        names = [f"column {k}" for k in range(rows.shape[1])]
        features = features.with_columns(rows, names, IMAGE_ENCODER)
        source += f" and {model.facts.name}"
    hits, alone, scores = Attackers(seed, resamples=resamples).run(
        choices, [features], choices.folds(seed), progress
    )
    return TextAttack(
        benchmark.name, source, 0, seed, hits, alone, choices, scores, benchmark.sha256
    )  # fmt: skip


def _statistics(choices: Choices, looked: PictureStatistics) -> Features:
    by_image = np.array([looked.statistics[name] for name in choices.texts])
    return Features(
        by_image.reshape(-1, len(STATISTICS))[choices.text],
        STATISTICS,
        (IMAGE_STATISTICS,) * len(STATISTICS),
        csr_matrix((len(choices.text), 0)),
    )


def _embedded(benchmark: Benchmark, choices: Choices, model: Any, progress: Progress) -> Floats:
    """The model's embedding of each option's image, one row per option."""
    if not hasattr(model, "embed_images"):
        raise BadInput(
            f"{model.facts.name} does not embed images",
            allowed="a model that embeds images (storybook, open_clip:NAME), or a backbone",
            todo="name another model with --encoder, or audit without --encoder",
        )
    pictures = [benchmark.picture(name) for name in choices.texts]
    images, number = distinct_images(pictures, by_content=True, progress=progress)
    with open_encoder(model, cache=default_folder(), progress=progress) as encoder:
        rows, _ = encoder.embed_images(images)
    found: Floats = np.asarray(rows, float)[np.asarray(number)][choices.text]
    return found


def together(captions: TextAttack, pictures: TextAttack) -> Guesser:
    """A guesser of whole grids that judges images and captions separately, original or edited.

    The score of a cell is the product of both: an image that looks original is matched with the
    caption that reads like an original. Their contents are never compared.
    """

    def scores(sheet: GuessSheet) -> Floats:
        by_caption = _by_item(captions, captions_items(sheet))
        by_image = _by_item(pictures, None)
        cells = sheet.cells
        found = np.zeros(len(cells.item))
        for k, (item, image, caption) in enumerate(
            zip(cells.item.tolist(), cells.image.tolist(), cells.caption.tolist(), strict=True)
        ):
            if item in by_caption and item in by_image:
                found[k] = by_image[item][image] * by_caption[item][caption]
        return found

    def captions_items(sheet: GuessSheet) -> dict[int, int]:
        """Positions of items in the whole benchmark, as positions among those looked at."""
        whole = {name: k for k, name in enumerate(sheet.benchmark.items.ids)}
        return {whole[name]: k for k, name in enumerate(sheet.items.ids)}

    return Guesser(
        "attackers", "original or edited, by attackers on images and captions", "", "both", scores
    )


def _by_item(attack: TextAttack, places: dict[int, int] | None) -> dict[int, Floats]:
    """The scores of each item's options, centred on their mean."""
    choices = attack.choices
    found = {}
    for row, item in enumerate(choices.item.tolist()):
        place = item if places is None else places.get(item, -1)
        own = attack.scores[choices.starts[row] : choices.starts[row + 1]]
        found[place] = own - own.mean()
    return found
