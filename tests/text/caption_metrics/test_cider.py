"""CIDEr, CIDEr-D, document frequencies and rewards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.text import slow_scores as slow
from tests.text.coco_scripts import coco_cider, needs_scripts

from tellapart.errors import BadInput
from tellapart.text.caption_metrics.cider import CiderReward, cider, cider_d
from tellapart.text.caption_metrics.references import DocumentFrequencies, ReferenceSets

WORDS = st.lists(st.sampled_from("a b c d e".split()), max_size=9).map(" ".join)
REFERENCES = st.lists(WORDS, min_size=1, max_size=4)
SETS = st.lists(st.tuples(WORDS, REFERENCES), min_size=1, max_size=6)


def sets_of(given: slow.Sets) -> ReferenceSets:
    return ReferenceSets.of([c for c, _ in given], [r for _, r in given])


@given(SETS, st.integers(1, 5))
def test_both_against_slow_versions(given, n):
    sets, documents = sets_of(given), len(given)
    frequencies = slow.document_frequencies([r for _, r in given], n)
    plain = [slow.cider(c, r, frequencies, documents, n) for c, r in given]
    clipped = [slow.cider_d(c, r, frequencies, documents, n) for c, r in given]
    assert cider(sets, n=n).sentences == pytest.approx(plain, abs=1e-9)
    assert cider_d(sets, n=n).sentences == pytest.approx(clipped, abs=1e-9)
    assert cider_d(sets, n=n).corpus == pytest.approx(np.mean(clipped), abs=1e-9)


@needs_scripts
@given(SETS.filter(lambda sets: any(r.split() for _, some in sets for r in some)))
def test_cider_d_is_what_the_coco_scripts_call_cider(given):
    corpus, sentences = coco_cider([c for c, _ in given], [r for _, r in given])
    found = cider_d(sets_of(given))
    assert np.allclose(found.sentences, sentences, rtol=0, atol=1e-9)
    assert found.corpus == pytest.approx(corpus, abs=1e-9)


@given(SETS, st.lists(REFERENCES, min_size=1, max_size=6))
def test_frequencies_of_another_corpus(given, corpus):
    frequencies = slow.document_frequencies(corpus, 4)
    expected = [slow.cider_d(c, r, frequencies, len(corpus)) for c, r in given]
    found = cider_d(sets_of(given), DocumentFrequencies.of(corpus))
    assert found.sentences == pytest.approx(expected, abs=1e-9)


def test_one_document_weighs_nothing():
    sets = ReferenceSets.of(["a dog"], [["a dog", "a cat"]])
    assert cider_d(sets).sentences.tolist() == [0.0]
    assert cider(sets).sentences.tolist() == [0.0]


def test_a_caption_equal_to_its_only_reference_has_the_highest_score():
    sets = ReferenceSets.of(["a b c d e", "f g h i"], [["a b c d e"], ["f g h i"]])
    assert cider_d(sets).sentences == pytest.approx([10.0, 10.0])
    assert cider(sets).sentences == pytest.approx([1.0, 1.0])


def test_repeating_a_word_pays_in_cider_but_not_in_cider_d():
    references = [["a red dog runs"], ["the cat sits"]]
    honest, gamed = (
        ReferenceSets.of([caption, "the cat sits"], references)
        for caption in ("red dog", "red dog red dog red dog red dog")
    )
    assert cider(gamed).sentences[0] > 0.9 * cider(honest).sentences[0]
    assert cider_d(gamed).sentences[0] < 0.7 * cider_d(honest).sentences[0]


def test_no_words_and_no_candidates():
    sets = ReferenceSets.of(["", "a b", "c"], [["a"], [""], ["c", "d"]])
    assert cider_d(sets).sentences[:2].tolist() == [0.0, 0.0]
    assert np.all(np.isfinite(cider(sets).sentences))
    assert cider_d(ReferenceSets.of([], [])).corpus == 0.0


def test_saved_frequencies_are_read_back(tmp_path):
    corpus = [["a dog", "a café"], ["a dog runs"], ["no"]]
    held = DocumentFrequencies.of(corpus)
    held.save(tmp_path / "frequencies.npz")
    read = DocumentFrequencies.load(tmp_path / "frequencies.npz")
    assert read.documents == 3
    assert read.index.words == held.index.words
    sets = ReferenceSets.of(["a dog runs", "a café"], [["a dog"], ["a café"]])
    assert np.array_equal(cider_d(sets, read).sentences, cider_d(sets, held).sentences)
    empty = DocumentFrequencies.of([])
    empty.save(tmp_path / "none.npz")
    assert DocumentFrequencies.load(tmp_path / "none.npz").index.sizes == [0, 0, 0, 0]


def test_what_holds_no_frequencies_is_refused(tmp_path):
    (tmp_path / "text.npz").write_text("a dog")
    (tmp_path / "empty.npz").touch()
    np.savez(tmp_path / "other.npz", words=np.zeros(3))
    np.save(tmp_path / "one.npy", np.zeros(3))
    held = DocumentFrequencies.of([["a b"]], n=1)
    replace(held, counts=(held.counts[0][:1],)).save(tmp_path / "short.npz")
    for name in ("text.npz", "empty.npz", "other.npz", "one.npy", "short.npz"):
        with pytest.raises(BadInput, match="the file has no document frequencies"):
            DocumentFrequencies.load(tmp_path / name)
    with pytest.raises(BadInput, match="the file of document frequencies does not exist"):
        DocumentFrequencies.load(tmp_path / "missing.npz")


def test_frequencies_of_shorter_ngrams_cannot_judge_longer_ones():
    frequencies = DocumentFrequencies.of([["a b c"], ["a"]], n=2)
    sets = ReferenceSets.of(["a b c"], [["a b c"]])
    with pytest.raises(BadInput, match="up to 2 words, not 4"):
        cider_d(sets, frequencies)
    longer = DocumentFrequencies.of([["a b c"], ["a"]], n=4)
    assert cider_d(sets, longer, n=2).corpus == cider_d(sets, frequencies, n=2).corpus


NEW_WORDS = st.lists(st.sampled_from("a b c d e new other".split()), max_size=9).map(" ".join)


@given(
    st.lists(REFERENCES, min_size=1, max_size=5),
    st.lists(st.tuples(NEW_WORDS, st.integers(0, 99)), max_size=8),
    st.one_of(st.none(), st.lists(REFERENCES, min_size=1, max_size=5)),
    st.integers(1, 5),
)
def test_rewards_are_cider_d(references, sampled, corpus, n):
    captions = [caption for caption, _ in sampled]
    images = [place % len(references) for _, place in sampled]
    frequencies = DocumentFrequencies.of(references if corpus is None else corpus, n)
    given = None if corpus is None else frequencies
    found = CiderReward.of(references, given, n=n).rewards(captions, images)
    sets = ReferenceSets.of(captions, [references[k] for k in images])
    assert found == pytest.approx(cider_d(sets, frequencies, n=n).sentences, abs=1e-9)


def test_rewards_name_images_that_are_not_there():
    reward = CiderReward.of([["a dog"], ["a cat"]])
    with pytest.raises(BadInput, match="there is no image 2"):
        reward.rewards(["a dog"], [2])
    with pytest.raises(BadInput, match="there is no image -1"):
        reward.rewards(["a dog"], [-1])
    with pytest.raises(BadInput, match="1 captions, but images of shape"):
        reward.rewards(["a dog"], [0, 1])
