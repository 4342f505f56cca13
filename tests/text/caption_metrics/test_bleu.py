"""BLEU of sentences and corpora."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text import slow_scores as slow
from tests.text.coco_scripts import coco_bleu, needs_scripts

from tellapart.errors import UnknownName
from tellapart.text.caption_metrics.bleu import FLOOR, SMOOTHINGS, Smoothing, bleu
from tellapart.text.caption_metrics.references import ReferenceSets

WORDS = st.lists(st.sampled_from("a b c d".split()), max_size=9).map(" ".join)
SETS = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=4)), min_size=1, max_size=6)
OPTIONS = st.fixed_dictionaries(
    {
        "smoothing": st.sampled_from(sorted(SMOOTHINGS)),
        "brevity": st.booleans(),
        "effective_order": st.booleans(),
    }
)


def sets_of(given: slow.Sets) -> ReferenceSets:
    return ReferenceSets.of([c for c, _ in given], [r for _, r in given])


def counts_of(candidate: str, references: list[str], n: int) -> tuple[list, list, tuple[int, int]]:
    length = len(candidate.split())
    return (
        [slow.matches(candidate, references, k) for k in range(1, n + 1)],
        [max(0, length - k + 1) for k in range(1, n + 1)],
        (length, slow.closest_length(candidate, references)),
    )


@given(SETS, OPTIONS, st.integers(1, 5))
def test_every_smoothing_against_a_slow_version(given, options, n):
    found = bleu(sets_of(given), n, **options)
    rows = [counts_of(candidate, references, n) for candidate, references in given]
    summed = tuple(np.sum([row[part] for row in rows], axis=0) for part in range(3))
    for k in range(1, n + 1):
        expected = [slow.bleu_of_counts(m[:k], t[:k], both, **options) for m, t, both in rows]
        assert found.sentences[k - 1] == pytest.approx(expected, abs=1e-12)
        whole = slow.bleu_of_counts(summed[0][:k], summed[1][:k], tuple(summed[2]), **options)
        assert found.corpus[k - 1] == pytest.approx(whole, abs=1e-12)
    assert found.candidate_length == summed[2][0]
    assert found.reference_length == summed[2][1]


@needs_scripts
@given(SETS)
def test_coco_smoothing_is_that_of_the_coco_scripts(given):
    corpus, sentences = coco_bleu([c for c, _ in given], [r for _, r in given])
    found = bleu(sets_of(given), smoothing="coco")
    assert found.corpus == pytest.approx(corpus, abs=1e-12)
    assert np.allclose(found.sentences, sentences, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [("none", ("none", None)), ("floor", ("floor", 0.1)), ("epsilon", ("floor", 1e-9)),
     ("add-one", ("add-k", 1)), ("exp", ("exp", None))],
)  # fmt: skip
@given(SETS, st.booleans())
def test_smoothings_are_those_of_sacrebleu(ours, theirs, given, effective):
    metric = pytest.importorskip("sacrebleu.metrics.bleu").BLEU
    found = bleu(sets_of(given), smoothing=ours, effective_order=effective)
    judge = metric(
        tokenize="none", force=True, effective_order=effective,
        smooth_method=theirs[0], smooth_value=theirs[1],
    )  # fmt: skip
    expected = [judge.sentence_score(c, r).score / 100 for c, r in given]
    assert found.sentences[3] == pytest.approx(expected, abs=1e-12)


def test_by_hand():
    # unigrams 3/4, bigrams 1/3; four words against three or six: the closest has three
    found = bleu(ReferenceSets.of(["the cat sat down"], [["the cat down", "a a a a a a"]]), 2)
    assert found.corpus == pytest.approx((3 / 4, math.sqrt(3 / 4 * 1 / 3)))
    short = bleu(ReferenceSets.of(["the cat"], [["the cat sat down"]]), 1)
    assert short.corpus[0] == pytest.approx(math.exp(1 - 4 / 2))
    assert bleu(ReferenceSets.of(["the cat"], [["the cat sat down"]]), 1, brevity=False).corpus == (
        1.0,
    )


def test_a_repeated_word_counts_as_often_as_in_one_reference():
    sets = ReferenceSets.of(["the the the the"], [["the cat the", "the dog"]])
    assert bleu(sets, 1, brevity=False).corpus[0] == pytest.approx(2 / 4)


def test_of_two_references_equally_near_the_shorter_counts():
    sets = ReferenceSets.of(["a b c"], [["a b c d", "a b"]])
    assert bleu(sets, 1).reference_length == 2
    assert bleu(sets, 1).corpus[0] == 1.0


@pytest.mark.parametrize("smoothing", sorted(SMOOTHINGS))
def test_candidates_and_references_without_words(smoothing):
    found = bleu(ReferenceSets.of(["", "a b", ""], [["a b"], [""], [""]]), smoothing=smoothing)
    assert np.all(np.isfinite(found.sentences))
    assert found.sentences[3, 0] == pytest.approx(0, abs=1e-9)
    if smoothing != "coco":
        assert np.all(found.sentences == 0)


def test_no_candidates_at_all():
    found = bleu(ReferenceSets.of([], []), 2)
    assert found.corpus == (0.0, 0.0)
    assert found.sentences.shape == (2, 0)


@given(SETS, st.randoms(use_true_random=False))
def test_order_of_candidates_and_references_does_not_matter(given, random):
    shuffled = [(c, random.sample(r, len(r))) for c, r in given]
    order = random.sample(range(len(given)), len(given))
    found = bleu(sets_of(given), smoothing="floor")
    other = bleu(sets_of([shuffled[k] for k in order]), smoothing="floor")
    assert np.array_equal(found.sentences[:, order], other.sentences)
    assert found.corpus == other.corpus


def test_a_smoothing_of_ones_own_and_an_unknown_one():
    sets = ReferenceSets.of(["a b c d"], [["a b x d"]])
    own = bleu(sets, 3, smoothing=Smoothing("half", FLOOR, 0.5)).corpus[2]
    assert own == pytest.approx((3 / 4 * 1 / 3 * 0.5 / 2) ** (1 / 3))
    with pytest.raises(UnknownName, match="no smoothing called 'flor'") as error:
        bleu(sets, smoothing="flor")
    assert "did you mean floor" in error.value.todo
