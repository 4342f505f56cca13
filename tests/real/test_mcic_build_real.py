"""MCIC built anew from the captions of its own development set, and from COCO's."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from tests.real.conftest import first_images

import tellapart as ta
from tellapart.corpus.corpus import make_corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.mine.captions import MinedCaptions
from tellapart.mine.informativeness import Silence, StemAgreement
from tellapart.mine.mcic.decoys import DecoyMine, pair_bleu
from tellapart.mine.mcic.score import DecoyChoice, Guards, scores
from tellapart.mine.neighbours.nearest import Search
from tellapart.mine.statistics import central_share
from tellapart.mine.vectors import paragraph_vectors
from tellapart.mine.verifier import Verifier
from tellapart.text.gensim_vectors import ParagraphOptions
from tellapart.types import silent
from tellapart.verbs.build.mcic import McicOptions


@pytest.fixture(scope="module")
def released(real_data):
    """(image, target, decoys) of each released row."""
    rows = []
    with gzip.open(real_data / "mcic" / "mc_mscoco_dev.txt.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = dict(part.split("=", 1) for part in line.rstrip("\n").split("\t"))
            texts = [row[f"answer_{k}"] for k in range(5)]
            target = texts.pop(int(row["reference"]))
            rows.append((row["image"], target, texts))
    return rows


def captions_of(released) -> MinedCaptions:
    """All distinct captions; one that is only a decoy belongs to an unknown image of its own."""
    pairs = dict.fromkeys((image, target) for image, target, _ in released)
    golds = {target for _, target in pairs}
    others = dict.fromkeys(text for *_, texts in released for text in texts if text not in golds)
    pairs |= {(f"unknown-{k}", text): None for k, text in enumerate(others)}
    images = [{"id": image, "uri": image} for image in dict.fromkeys(image for image, _ in pairs)]
    rows = [{"id": str(k), "image": i, "text": t} for k, (i, t) in enumerate(pairs)]
    return MinedCaptions.of(make_corpus("mcic", "", images, rows))


@pytest.mark.parametrize("rows", [1_000, pytest.param(9_999, marks=pytest.mark.campaign)])
def test_our_decoys_score_at_least_as_high_as_the_released_ones(released, rows):
    """By Equation 1 under the same vectors, with the guards and without."""
    released = released[:rows]
    captions = captions_of(released)
    vectors = paragraph_vectors(captions, ParagraphOptions(64, 10), silent)
    choice = DecoyChoice()
    place = {text: k for k, text in reversed(list(enumerate(captions.texts)))}
    target_of = {
        (captions.images[i], text): k
        for k, (i, text) in enumerate(zip(captions.image_of, captions.texts, strict=True))
    }
    targets = np.array([target_of[image, text] for image, text, _ in released], np.int32)
    theirs = np.array([[place[text] for text in texts] for *_, texts in released])
    unit = vectors.rows / np.linalg.norm(vectors.rows, axis=1, keepdims=True)
    cosines = np.einsum("qd,qkd->qk", unit[targets], unit[theirs])
    bleus = pair_bleu(captions, choice).scores_against(targets, theirs)
    score = scores(cosines, bleus, choice.weight, choice.limit)
    for guards in (Guards().without(["all"]), Guards()):
        stems, verifier = StemAgreement.of(captions), Verifier(None, "")
        mine = DecoyMine(captions, vectors, stems, choice, guards, Search(), verifier, 0)
        ours = mine.decoys(targets)
        assert ours.scores.mean() > score.mean()
        # Where the released decoys are allowed by L, too.
        assert ours.scores.mean() > score[score > 0].mean()
        texts = [[captions.texts[k] for k in row if k >= 0] for row in ours.captions]
        pairs = zip(texts, released, strict=True)
        shared = sum(len({*mine} & {*row[2]}) for mine, row in pairs) / theirs.size
        assert 0.02 < shared < 0.5


def test_pitfall_8_the_guards_find_the_true_decoys_of_the_release(released):
    """The 53 rows with the target's words in another order, and most captions that are true."""
    captions = captions_of(released)
    silence = Silence.of(captions, StemAgreement.of(captions))
    bags = {(captions.images[i], b) for i, b in zip(captions.image_of, captions.bags, strict=True)}
    bag_of = dict(zip(captions.texts, captions.bags, strict=True))
    rows = sum(any((image, bag_of[t]) in bags for t in texts) for image, _, texts in released)
    assert rows >= 53
    assert silence.true_captions_let_through(0.1) < 0.25
    assert silence.true_captions_let_through(1.0) == 1.0


def test_the_released_truth_is_the_most_central_option_in_a_third_of_the_rows(released):
    texts = [text for _, target, decoys in released for text in (target, *decoys)]
    share = central_share(texts, np.arange(len(texts)).reshape(-1, 5))
    assert share == pytest.approx(0.35, abs=0.01)


@pytest.mark.parametrize(
    ("images", "items"), [(500, 30), pytest.param(5_000, 200, marks=pytest.mark.campaign)]
)
def test_coco_val2017_becomes_a_benchmark_with_its_pictures(real_data, tmp_path, images, items):
    coco = real_data / "coco"
    whole = read_corpus(coco / "captions_val2017.json.gz", ReadOptions(images=coco / "images"))
    options = McicOptions(vectors="tf-idf", split="dev:0.5,test:0.5", items=items)
    made = ta.build("mcic", first_images(whole, images), tmp_path / "o", options)
    told = made.card.made["statistics"]
    assert [part["instances"] for part in told.values()] == [items, items]
    for part in told.values():
        assert part["bleu"] < 0.5 and part["central"] == 0.2
        assert part["score"] >= 0.8 * part["paper_score"]
    dev, test = (ta.load_benchmark(tmp_path / "o" / name) for name in ("dev", "test"))
    assert not set(dev.images) & set(test.images)
    found = [i for i in dev.images if dev.picture(i).path.exists()]
    assert len(found) > 0.85 * len(dev.images) and min(dev.picture(found[0]).open().size) == 224
