"""Word vectors: files in every form, and means."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellapart.errors import BadInput
from tellapart.text.word_vectors import WordVectors, read_vectors

TEXTS = ["a dog on the grass".split(), "a cat on the street".split(), "a bus".split()] * 9
WORDS = {"dog": [1.0, 0.5, -2.0], "cat": [0.25, 0.0, 3.0], "Ünïcode": [4.0, 5.0, 6.5]}


def as_text(header, end="\n"):
    lines = [f"{word} {' '.join(map(str, numbers))}{end}" for word, numbers in WORDS.items()]
    first = f"{len(WORDS)} 3\n" if header else ""
    return (first + "".join(lines)).encode()


def as_binary(end):
    rows = (w.encode() + b" " + struct.pack("<3f", *v) + end for w, v in WORDS.items())
    return f"{len(WORDS)} 3\n".encode() + b"".join(rows)


FORMS = {
    "fasttext.vec": as_text(True, " \n"),
    "word2vec.txt": as_text(True),
    "glove.txt": as_text(False),
    "windows.txt": as_text(False, "\r\n"),
    "word2vec.bin": as_binary(b""),
    "lines.bin": as_binary(b"\n"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_read(tmp_path, form, packed):
    path = tmp_path / (form + ".gz" * packed)
    path.write_bytes(gzip.compress(FORMS[form]) if packed else FORMS[form])
    read = read_vectors(path)
    assert dict(zip(read.words, read.matrix.tolist(), strict=True)) == WORDS
    some = read_vectors(path, {"cat", "ünïcode", "zebra"})
    assert dict(zip(some.words, some.matrix.tolist(), strict=True)) == {
        "ünïcode": WORDS["Ünïcode"], "cat": WORDS["cat"]
    }  # fmt: skip


def test_a_word_as_it_is_written_goes_before_one_with_other_capitals(tmp_path):
    (tmp_path / "v.txt").write_text("TV 1 1\ntv 2 2\nTv 3 3\nUS 4 4\nUs 5 5\n")
    read = read_vectors(tmp_path / "v.txt", {"tv", "us"})
    assert dict(zip(read.words, read.matrix[:, 0].tolist(), strict=True)) == {"us": 4, "tv": 2}


def test_words_with_spaces_are_read_whole(tmp_path):
    (tmp_path / "glove.txt").write_text("dog 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
    assert read_vectors(tmp_path / "glove.txt").words == ("dog", ". . .", "at name@domain.com")
    assert read_vectors(tmp_path / "glove.txt", {".", "at", "dog"}).words == ("dog",)


def test_a_large_binary_file_is_read_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr("tellapart.text.word_vectors.CHUNK", 64)
    numbers = np.arange(300 * 5, dtype="<f4").reshape(300, 5)
    rows = (f"word{k} ".encode() + row.tobytes() for k, row in enumerate(numbers))
    (tmp_path / "v.bin").write_bytes(b"300 5\n" + b"".join(rows))
    assert (read_vectors(tmp_path / "v.bin").matrix == numbers).all()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "has no word vectors"),
        (b"hello\n", "has no word vectors"),
        (b"a dog on the grass\n", "has no word vectors"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "has no word vectors"),
        (as_text(True)[:-12], "differs from the others|ends after"),
        (b"2 3\ndog 1 2 3\n", "ends after 1 of 2 words"),
        (as_binary(b"")[:-3], "ends after 2 of 3 words"),
        (
            b"dog 1 2\ncat 1 2 3\nbird x 2\n",
            "vector of 'bird' in v.txt differs from the others in format",
        ),
        (b"dog 1 nan\n", "differs from the others"),
    ],
)
def test_a_broken_file_is_an_error_that_says_what(tmp_path, data, reason):
    (tmp_path / "v.txt").write_bytes(data)
    with pytest.raises(BadInput, match=reason):
        read_vectors(tmp_path / "v.txt")


def test_a_missing_or_half_packed_file_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"none\.vec does not exist"):
        read_vectors(tmp_path / "none.vec")
    (tmp_path / "v.vec.gz").write_bytes(gzip.compress(as_text(True) * 50)[:-20])
    with pytest.raises(BadInput, match="not a complete gzip file"):
        read_vectors(tmp_path / "v.vec.gz")


def test_fasttext_s_binary_files_give_a_vector_to_words_that_they_have_not(tmp_path):
    fasttext = pytest.importorskip("gensim.models.fasttext")
    model = fasttext.FastText(TEXTS, vector_size=8, min_count=1, epochs=1, workers=1, bucket=500)
    fasttext.save_facebook_model(model, str(tmp_path / "m.bin"))
    read = read_vectors(tmp_path / "m.bin", ["dog", "doggy"])
    assert read.words == ("dog", "doggy") and np.abs(read.matrix).sum(axis=1).all()
    assert np.allclose(read.matrix[0], model.wv["dog"], atol=1e-6)
    assert set(read_vectors(tmp_path / "m.bin").words) == {w for text in TEXTS for w in text}
    (tmp_path / "half.bin").write_bytes((tmp_path / "m.bin").read_bytes()[:90])
    with pytest.raises(BadInput, match="not a complete fastText file"):
        read_vectors(tmp_path / "half.bin")


@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", "?"]), max_size=6), max_size=8))
def test_means_are_those_of_the_obvious_version(texts):
    vectors = {"a": [1.0, 0.0], "b": [0.0, 2.0], "c": [-1.0, 0.5]}
    made = WordVectors("test", tuple(vectors), np.array([*vectors.values()], np.float32))
    means = made.mean_vectors(texts)
    for row, words in enumerate(texts):
        known = [vectors[w] for w in words if w in vectors]
        expected = np.mean(known, axis=0) if known else [0, 0]
        assert np.allclose(means.vectors[row], expected, atol=1e-6)
    assert means.unknown.tolist() == [
        row for row, v in enumerate(means.vectors.tolist()) if v == [0, 0]
    ]
    total = sum(map(len, texts))
    found = sum(w in vectors for words in texts for w in words)
    assert means.known == (pytest.approx(found / total) if total else 0)


def test_the_order_of_words_changes_no_bit_of_their_mean():
    rng = np.random.default_rng(0)
    words = tuple(f"w{k}" for k in range(200))
    made = WordVectors("test", words, rng.normal(size=(200, 50)).astype(np.float32))
    text = [words[k] for k in rng.integers(200, size=60)]
    a, b = made.mean_vectors([text, sorted(text)]).vectors
    assert (a == b).all()
