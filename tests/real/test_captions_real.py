"""Caption metrics on real captions: published figures come out, and METEOR equals its peer."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.text.coco_scripts import needs_java

import tellapart as ta
from tellapart.corpus.reader import read_corpus
from tellapart.measures.captions.judgements import read_judgements
from tellapart.measures.options import NATIVE, CaptionOptions
from tellapart.text.caption_metrics.meteor import METEOR
from tellapart.text.caption_metrics.metric import Material, metric_of
from tellapart.verbs.captions import captions
from tellapart.verbs.runs.measure import measure

QUICK = {"resamples": 300, "permutations": 1_000}
UPDOWN, SOFT = "updown_karpathy_test", "soft_attention_karpathy_test"


@pytest.fixture(scope="module")
def systems(real_data):
    return [real_data / f"captioners/{name}.json" for name in (UPDOWN, SOFT)]


def test_two_captioners_score_as_published_and_are_told_apart(systems, val2014):
    found = captions(systems, val2014, CaptionOptions(**QUICK))
    assert [row.metric for row in found.scores[::2]] == list(NATIVE)
    assert 105 < 100 * found.value(UPDOWN, "CIDEr-D") < 115
    assert 34 < 100 * found.value(UPDOWN, "BLEU-4") < 37
    assert 55 < 100 * found.value(UPDOWN, "ROUGE-L") < 58
    assert found.scores[0].images == 5_000
    for pair in found.pairs:
        assert pair.difference > 0 and pair.low > 0 and pair.mark == "***", pair
    assert found.per_image.height == 10_000 and not found.per_image.null_count().sum_horizontal()[0]


def test_bleu_with_one_reference_is_that_of_bison_figure_4(systems, val2014):
    """Hu et al. 2019, section 3: 34.58 with five references, 10.69 with one."""
    options = CaptionOptions(metrics=("BLEU-4",), references_used=(1,), repeats=3, **QUICK)
    found = captions(systems[0], val2014, options)
    assert 100 * found.fewer[0].value == pytest.approx(10.69, abs=0.5)
    assert 100 * found.scores[0].value == pytest.approx(34.58, abs=0.6)


@needs_java
@pytest.mark.campaign
def test_meteor_equals_pycocoevalcap_on_the_same_tokens(systems, val2014):
    from pycocoevalcap.meteor.meteor import Meteor as TheirMeteor

    rows = json.loads(systems[0].read_text())[:400]
    texts = val2014.texts_by_image
    material = Material(
        [row["caption"] for row in rows], [texts[str(row["image_id"])] for row in rows]
    )
    marks = METEOR.marks(material)
    candidates, references = material.tokenised
    theirs = TheirMeteor()
    overall, each = theirs.compute_score(
        dict(enumerate(references)), {k: [c] for k, c in enumerate(candidates)}
    )
    for pipe in (theirs.meteor_p.stdout, theirs.meteor_p.stderr):
        theirs.meteor_p.kill()
        pipe.close()
    assert marks.overall == pytest.approx(overall, abs=1e-6)
    assert marks.each.tolist() == pytest.approx(each, abs=1e-6)


@pytest.mark.parametrize(
    ("items", "off"), [(6_000, 2.0), pytest.param(54_253, 0.6, marks=pytest.mark.campaign)]
)
def test_captioning_scores_as_bison_predictors(real_data, coco_bison, tmp_path, items, off):
    """Hu et al. 2019, section 5.1: 70.78 for CIDEr; for BLEU-4 see docs/captions.md."""
    bison = ta.subset(coco_bison, tmp_path / "bison", ta.SubsetOptions(limit=items))
    corpus = real_data / "coco/captions_val2014.json.gz"
    names = ("CIDEr-D@{}", "BLEU-4@{}", "BLEU-4@{}?elsewhere=3")
    models = [f"reference:{name.format(corpus)}" for name in names]
    runs = ta.evaluate(models, bison, tmp_path / "runs")
    cider, bleu, three = (100 * measure(run, by_kind=False).rows[0].value for run in runs)
    assert all(len(run.covered) == len(bison) and not run.failures for run in runs)
    assert cider == pytest.approx(70.78, abs=off)
    assert bleu == pytest.approx(62.5, abs=off)  # the paper has 70.73
    assert three == pytest.approx(70.73, abs=off)  # with three of the decoy's captions


PUBLISHED = {"BLEU-4": 30.8, "ROUGE-L": 32.3, "METEOR": 41.8, "CIDEr-D": 43.9}
"""Kendall's tau-c on Flickr8k-Expert: Hessel et al. 2021 (CLIPScore), table 1."""


@pytest.mark.parametrize(
    "metrics",
    [
        ("BLEU-4", "ROUGE-L", "CIDEr-D"),
        pytest.param(tuple(PUBLISHED), marks=[pytest.mark.campaign, needs_java]),
    ],
    ids=["compiled", "all"],
)
def test_correlations_with_experts_are_as_published_and_as_counted_pair_by_pair(real_data, metrics):
    folder = real_data / "flickr8k-judgements"
    path = folder / "ExpertAnnotations.txt"
    corpus = read_corpus(folder / "captions.token.txt")
    options = CaptionOptions(judgements=path, metrics=metrics)
    found = captions((), corpus, options)
    for row in found.judgements:
        assert (row.captions, row.ratings, row.images) == (5_664, 16_992, 1_000)
        assert 100 * row.tau_c.value == pytest.approx(PUBLISHED[row.metric], abs=0.3), row.metric
    given = read_judgements(path, corpus).captions
    material = Material(
        [one.caption for one in given], [corpus.texts_by_image[one.image] for one in given]
    )
    score = np.repeat(metric_of("CIDEr-D").marks(material).each, 3)
    rating = np.array([one.ratings for one in given]).ravel()
    agree = sum(
        int((np.sign(score - score[k]) * np.sign(rating - rating[k])).sum())
        for k in range(len(score))
    )
    slow = agree * 4 / (len(score) ** 2 * 3)
    (cider,) = (row for row in found.judgements if row.metric == "CIDEr-D")
    assert cider.tau_c.value == pytest.approx(slow, abs=1e-12)
