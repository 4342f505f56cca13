"""Tokens and scores of real captions are those of the COCO scripts."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from tests.text import slow_scores as slow
from tests.text.coco_scripts import (
    coco_bleu,
    coco_cider,
    coco_rouge,
    java_tokens,
    needs_java,
    needs_scripts,
)

from tellapart.seeds import rng
from tellapart.text.caption_metrics.bleu import bleu
from tellapart.text.caption_metrics.cider import CiderReward, cider, cider_d
from tellapart.text.caption_metrics.references import DocumentFrequencies, ReferenceSets
from tellapart.text.caption_metrics.rouge import rouge_l
from tellapart.text.ptb import ptb_tokenise


def coco(folder: Path, name: str) -> dict[int, list[str]]:
    """Captions by image, in the file's order."""
    with gzip.open(folder / "coco" / f"captions_{name}.json.gz") as file:
        rows = json.load(file)["annotations"]
    found: dict[int, list[str]] = defaultdict(list)
    for row in rows:
        found[row["image_id"]].append(row["caption"])
    return found


@pytest.fixture(scope="module", params=[2_500, pytest.param(20_000, marks=pytest.mark.campaign)])
def sets(real_data: Path, request: pytest.FixtureRequest) -> tuple[list[str], list[list[str]]]:
    """For images of val2014 the last caption of another image, or every second time of their own.

    References are the image's other captions, four or more.
    """
    captions = coco(real_data, "val2014")
    images = list(captions)[: request.param]
    flat = ptb_tokenise([caption for image in images for caption in captions[image]])
    tokens, at = [], 0
    for image in images:
        tokens.append(flat[at : at + len(captions[image])])
        at += len(captions[image])
    other = rng(0, "other images").permutation(len(images))
    candidates = [tokens[k if k % 2 else other[k]][-1] for k in range(len(images))]
    return candidates, [some[:-1] for some in tokens]


@needs_java
@pytest.mark.parametrize(
    "name", [pytest.param("val2014", marks=pytest.mark.campaign), "val2017", "flickr8k"]
)
def test_tokens_are_java_s_on_every_caption(real_data, name):
    if name == "flickr8k":
        lines = (real_data / "flickr8k" / "captions.token.txt").read_text().splitlines()
        captions = [line.split("\t", 1)[1] for line in lines]
        assert len(captions) == 20_000
    else:
        captions = [caption for some in coco(real_data, name).values() for caption in some]
        assert len(captions) == {"val2014": 202_654, "val2017": 25_014}[name]
    expected = java_tokens(captions)
    found = ptb_tokenise(captions)
    assert [row for row in zip(captions, found, expected, strict=True) if row[1] != row[2]] == []


@needs_scripts
def test_scores_are_those_of_the_coco_scripts(sets):
    ours = ReferenceSets.of(*sets)
    corpus, sentences = coco_bleu(*sets)
    found = bleu(ours, smoothing="coco")
    assert np.abs(found.sentences - sentences).max() < 1e-9
    assert np.abs(np.array(found.corpus) - corpus).max() < 1e-9
    for scripts, judge in ((coco_cider, cider_d), (coco_rouge, rouge_l)):
        whole, parts = scripts(*sets)
        scores = judge(ours)
        assert np.abs(scores.sentences - parts).max() < 1e-9
        assert abs(scores.corpus - whole) < 1e-9


def test_cider_is_as_published(sets):
    candidates, references = (part[:1_000] for part in sets)
    frequencies = slow.document_frequencies(references, 4)
    expected = [
        slow.cider(candidate, some, frequencies, len(references))
        for candidate, some in zip(candidates, references, strict=True)
    ]
    found = cider(ReferenceSets.of(candidates, references)).sentences
    assert np.abs(found - expected).max() < 1e-9


def test_rewards_are_cider_d_of_the_whole_corpus(sets):
    candidates, references = sets
    frequencies = DocumentFrequencies.of(references)
    some = rng(0, "images").integers(0, len(references), 5_000)
    captions = [candidates[k] for k in rng(0, "captions").integers(0, len(candidates), len(some))]
    rewards = CiderReward.of(references, frequencies).rewards(captions, some)
    scores = cider_d(ReferenceSets.of(captions, [references[k] for k in some]), frequencies)
    assert np.abs(rewards - scores.sentences).max() < 1e-9
