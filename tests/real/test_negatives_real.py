"""Negatives by rules on COCO val2017."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.real.conftest import first_images

from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.items import KINDS
from tellapart.mine.negatives.negative import NegativesTask
from tellapart.mine.negatives.rules import make
from tellapart.text.parse import parse
from tellapart.text.tokens import tokens
from tellapart.verbs.build.negatives import NegativesOptions

pytest.importorskip("spacy", reason="spacy is not installed")


@pytest.fixture(scope="module", params=[350, pytest.param(1_200, marks=pytest.mark.campaign)])
def made(real_data, request):
    reading = ReadOptions(objects=real_data / "coco/objects_val2014.json.gz")
    whole = read_corpus(real_data / "coco/captions_val2017.json.gz", reading)
    corpus = first_images(whole, request.param)
    parsed = parse(corpus.captions["text"].to_list())
    task = NegativesTask(corpus, parsed, NegativesOptions(), seed=1)
    return corpus, make(task)


def test_each_kind_comes_out_of_real_captions(made):
    corpus, told = made
    kinds = Counter(negative.kind for negative in told.negatives)
    few = {"swap-object", "swap-attribute", "add-object"} if corpus.images.height < 1_000 else set()
    assert set(KINDS) - set(kinds) <= few
    assert kinds["replace-object"] > 0.1 * corpus.captions.height
    for kind in KINDS:
        without = sum(n for (of, _), n in told.refused.items() if of == kind)
        assert without + kinds[kind] == corpus.captions.height


def test_what_is_put_in_is_in_no_caption_of_the_image(made):
    corpus, told = made
    for negative in told.negatives:
        said = {w for text in corpus.texts_by_image[negative.image] for w in tokens(text)}
        new = set(tokens(negative.text)) - set(tokens(negative.original)) - {"a", "an", "and"}
        if negative.kind.endswith(("object", "attribute")) and not negative.kind.startswith("swap"):
            assert new and (negative.now in PRONOUN_CHANGES or not new & said)


PRONOUN_CHANGES = ("man", "woman", "boy", "girl")
"""With these a pronoun changes too, which another caption may have."""
