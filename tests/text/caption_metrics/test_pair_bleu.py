"""BLEU of many pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.errors import BadInput
from tellapart.text.caption_metrics.bleu import SMOOTHINGS, bleu
from tellapart.text.caption_metrics.pair_bleu import PairBleu
from tellapart.text.caption_metrics.references import ReferenceSets
from tellapart.text.caption_metrics.sentences import Sentences

WORDS = st.lists(st.sampled_from("a b c d".split()), max_size=9).map(" ".join)
OPTIONS = st.fixed_dictionaries(
    {
        "smoothing": st.sampled_from(sorted(SMOOTHINGS)),
        "brevity": st.booleans(),
        "effective_order": st.booleans(),
    }
)


@given(st.lists(WORDS, min_size=1, max_size=6), OPTIONS, st.integers(1, 5))
def test_pairs_score_as_bleu_scores_them(sentences, options, n):
    left, right = (part.ravel() for part in np.indices((len(sentences), len(sentences))))
    sets = ReferenceSets.of([sentences[k] for k in left], [[sentences[k]] for k in right])
    expected = bleu(sets, n, **options).sentences[n - 1]
    pairs = PairBleu(Sentences.of(sentences), n, **options)
    assert pairs.scores(left, right) == pytest.approx(expected, abs=1e-12)
    rows = right.reshape(len(sentences), -1)[:, ::-1]  # candidates of each row, in another order
    against = pairs.scores_against(np.arange(len(sentences)), rows)
    grid = expected.reshape(len(sentences), -1).T  # [reference, candidate]
    assert against == pytest.approx(grid[:, ::-1], abs=1e-12)


def test_pairs_score_as_sacrebleu_scores_sentences():
    sacrebleu = pytest.importorskip("sacrebleu")
    words = np.random.default_rng(1).choice("a man rides the red bike on dog".split(), (40, 9))
    sentences = [" ".join(row[: 1 + k % 9]) for k, row in enumerate(words)]
    pairs = PairBleu(Sentences.of(sentences), smoothing="exp", brevity=True, effective_order=True)
    left, right = np.arange(40), np.roll(np.arange(40), 7)
    expected = [
        sacrebleu.sentence_bleu(sentences[a], [sentences[b]], tokenize="none").score / 100
        for a, b in zip(left, right, strict=True)
    ]
    assert pairs.scores(left, right) == pytest.approx(expected, abs=1e-12)


def test_many_pairs_in_threads_score_as_one_by_one():
    words = np.random.default_rng(2).choice(list("abcdefgh"), (300, 10))
    pairs = PairBleu(Sentences.of([" ".join(row) for row in words]), smoothing="floor")
    left, right = np.random.default_rng(3).integers(0, 300, (2, 30_000))
    together = pairs.scores(left, right)
    alone = [pairs.scores(left[k : k + 1], right[k : k + 1])[0] for k in range(0, 30_000, 997)]
    assert np.array_equal(together[::997], alone)
    grid = left.reshape(300, 100)
    rows = pairs.scores_against(np.arange(300), grid)
    assert np.array_equal(rows, pairs.scores(grid, np.repeat(np.arange(300)[:, None], 100, 1)))


def test_a_sentence_is_its_own_best_match():
    pairs = PairBleu(Sentences.of(["a b c d e", "a b c d", "x y z w"]))
    grid = pairs.scores_against(np.array([0, 1, 2]), np.array([[0, 1, 2]] * 3))
    assert np.diag(grid).tolist() == [1.0, 1.0, 1.0]
    assert grid[0, 1] == 1.0  # no brevity penalty unless asked
    brief = PairBleu(Sentences.of(["a b c d e", "a b c d"]), brevity=True)
    assert brief.scores(np.array([1]), np.array([0]))[0] == pytest.approx(np.exp(1 - 5 / 4))


def test_shapes_and_places_are_checked():
    pairs = PairBleu(Sentences.of(["a b", "a c"]))
    with pytest.raises(BadInput, match="there is no sentence 2"):
        pairs.scores(np.array([0]), np.array([2]))
    with pytest.raises(BadInput, match="there is no sentence -1"):
        pairs.scores_against(np.array([0]), np.array([[1, -1]]))
    with pytest.raises(BadInput, match="candidates of shape"):
        pairs.scores(np.array([0]), np.array([0, 1]))
    with pytest.raises(BadInput, match="row of candidates"):
        pairs.scores_against(np.array([0, 1]), np.array([[0, 1]]))
    assert pairs.scores(np.array([], int), np.array([], int)).shape == (0,)
    assert pairs.scores_against(np.array([], int), np.empty((0, 4), int)).shape == (0, 4)
