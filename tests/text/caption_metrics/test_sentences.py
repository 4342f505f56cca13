"""Words and n-grams as numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.errors import BadInput
from tellapart.text.caption_metrics.ngrams import NGramCounts, ngram_ids
from tellapart.text.caption_metrics.references import ReferenceSets
from tellapart.text.caption_metrics.sentences import Sentences, with_other_spaces

TOKENS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
WORDS = st.lists(st.sampled_from(["a", "b", "c", "dd", "é"]), max_size=9).map(" ".join)


@given(st.lists(TOKENS, max_size=8))
def test_ids_give_back_the_words_of_each_sentence(sentences):
    found = Sentences.of(sentences)
    words = [[found.words[k] for k in part] for part in np.split(found.ids, found.starts[1:-1])]
    assert words[: len(sentences)] == [sentence.split() for sentence in sentences]
    assert len(set(found.words)) == len(found.words)


@given(st.lists(TOKENS, min_size=1, max_size=8))
def test_sentences_with_other_spaces_are_found_and_replaced(sentences):
    odd = with_other_spaces(sentences)
    wide = [any(c.isspace() and c != " " for c in sentence) for sentence in sentences]
    assert odd == [k for k, is_wide in enumerate(wide) if is_wide]
    found = Sentences.of(sentences).with_sentences(odd, [["new", "a"] for _ in odd])
    expected = [["new", "a"] if k in odd else one.split() for k, one in enumerate(sentences)]
    assert [found.words[k] for k in found.ids] == [word for words in expected for word in words]
    assert found.lengths.tolist() == list(map(len, expected))


def test_many_distinct_words_keep_their_ids():
    words = [f"w{k}" for k in range(60_000)]
    found = Sentences.of([" ".join(words), " ".join(words[::-1])])
    assert list(found.words) == words
    assert np.array_equal(found.ids[:60_000], found.ids[60_000:][::-1])


@given(st.lists(WORDS, max_size=8), st.integers(1, 5))
def test_counts_of_ngrams_are_those_of_a_counter(sentences, n):
    held = Sentences.of(sentences)
    counts = NGramCounts.of(held, n)
    for s, sentence in enumerate(sentences):
        words = sentence.split()
        for k in range(1, n + 1):
            part = slice(counts.starts[s * n + k - 1], counts.starts[s * n + k])
            ids = counts.ids[part]
            assert np.all(np.diff(ids) > 0)
            found = {_gram(counts, k, i): c for i, c in zip(ids, counts.counts[part], strict=True)}
            assert found == Counter(tuple(words[i : i + k]) for i in range(len(words) - k + 1))


def _gram(counts: NGramCounts, k: int, number: int) -> tuple[str, ...]:
    if k == 1:
        return (counts.index.words[number],)
    key = int(counts.index.keys[k - 2][number])
    return (*_gram(counts, k - 1, key >> 32), counts.index.words[key & 0xFFFFFFFF])


@given(st.lists(WORDS, max_size=6), st.lists(WORDS, max_size=6))
def test_joining_indexes_keeps_what_ids_stand_for(mine, others):
    left = ngram_ids(Sentences.of(mine), 3)[1]
    right = ngram_ids(Sentences.of(others), 3)[1]
    both, places = left.joined(right)
    fresh = ngram_ids(Sentences.of([*mine, *others]), 3)[1]
    assert sorted(both.words) == sorted(fresh.words)
    assert both.sizes == fresh.sizes
    assert [both.words[k] for k in places[0]] == list(right.words)
    assert all(len(set(some.tolist())) == len(some) for some in places)
    for place, known in zip(left.places(both), left.sizes, strict=True):
        assert np.array_equal(place[:known], np.arange(known)) and np.all(place[known:] == -1)


def test_pairs_of_ids_are_told_apart_exactly():
    # 300 words, each after each other one: 90,000 bigrams, none of them mistaken for another
    pairs = np.stack(np.indices((300, 300)), -1).ravel()
    held = Sentences(pairs.astype(np.int32), np.array([0, pairs.size]), ("w",) * 300)
    places, index = ngram_ids(held, 2)
    told, which = np.unique(pairs[:-1] * 300 + pairs[1:], return_inverse=True)
    assert len(index.keys[0]) == len(told)
    assert len(np.unique(which * len(told) + places[1][:-1])) == len(told)


@pytest.mark.parametrize("bad", [None, 3, b"a"])
def test_what_is_no_text_is_named(bad):
    with pytest.raises(BadInput, match="sentence 1 is not text"):
        Sentences.of(["a", bad])


def test_no_ngrams_of_no_words():
    with pytest.raises(BadInput, match="n-grams of 0 words"):
        NGramCounts.of(Sentences.of(["a b"]), 0)


def test_references_must_be_there_and_as_many_as_candidates():
    with pytest.raises(BadInput, match="2 candidates but 1 lists"):
        ReferenceSets.of(["a", "b"], [["a"]])
    with pytest.raises(BadInput, match="references of candidate 1 are missing"):
        ReferenceSets.of(["a", "b"], [["a"], []])
    with pytest.raises(BadInput, match="references of candidate 0 are a single text"):
        ReferenceSets.of(["a"], ["a dog"])
