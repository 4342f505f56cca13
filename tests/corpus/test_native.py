"""The toolkit's own folder: what is saved is read again, and broken folders say so."""

from __future__ import annotations

import json

import polars as pl
import pytest

from tellapart.corpus.corpus import make_corpus, save_corpus
from tellapart.corpus.reader import ReadOptions, read_corpus


@pytest.fixture
def saved(tmp_path, put, jpeg):
    put("pictures/a.jpg", jpeg)
    corpus = make_corpus(
        "mine",
        tmp_path / "pictures",
        [{"id": "a", "uri": "a.jpg", "objects": ["dog"]}, {"id": "b", "uri": "b.jpg"}],
        [{"id": "1", "image": "a", "text": "A dog."}],
        about={"format": "test"},
    )
    save_corpus(corpus, tmp_path / "corpus")
    return tmp_path / "corpus"


def test_a_saved_corpus_is_read_again_from_its_folder_or_its_card(saved, texts):
    for path in (saved, saved / "corpus.json"):
        corpus = read_corpus(path)
        assert corpus.name == "mine"
        assert corpus.about == {"format": "test"}
        assert texts(corpus) == [("1", "a", "A dog.")]
        assert corpus.objects("a") == {"dog"}
        assert corpus.objects("b") is None
        assert corpus.picture("a").open().size == (8, 6)


def test_objects_can_be_added(saved, put):
    objects = put("objects.json", {"b": ["cat", "cat"]})
    corpus = read_corpus(saved, ReadOptions(objects=objects))
    assert (corpus.objects("a"), corpus.objects("b")) == ({"dog"}, {"cat"})


def test_a_folder_of_images_beside_it_is_refused(saved, tmp_path, fails):
    error = fails(saved, images=tmp_path)
    assert "stores the paths of its pictures" in error.what
    assert "omit --images" in error.todo


def test_a_missing_table_is_named(saved, fails):
    (saved / "captions.parquet").unlink()
    error = fails(saved)
    assert error.what == "there is no file captions.parquet"
    assert str(saved) in error.where


def test_a_table_that_is_not_parquet_is_named(saved, fails):
    (saved / "images.parquet").write_bytes(b"hello")
    assert "images.parquet is not an intact .parquet file" in fails(saved).what


def test_a_column_that_is_gone_is_named(saved, fails):
    table = pl.read_parquet(saved / "captions.parquet").rename({"text": "texts"})
    table.write_parquet(saved / "captions.parquet")
    error = fails(saved)
    assert error.what == "there is no column called 'text'"
    assert "did you mean texts?" in error.todo


@pytest.mark.parametrize("card", [[], {}, {"schema": "tellapart-corpus-99"}])
def test_a_card_of_another_kind_is_refused(saved, fails, card):
    (saved / "corpus.json").write_text(json.dumps(card))
    error = fails(saved)
    assert error.what == "corpus.json is not the card of a corpus"
    assert "tellapart-corpus-1" in error.allowed


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"about": [1]}, '"about" in corpus.json is list'),
        ({"skipped": 3}, '"skipped" in corpus.json is int'),
        ({"name": None}, '"name" in corpus.json is NoneType'),
    ],
)
def test_a_card_with_values_of_other_types_is_refused(saved, fails, change, what):
    card = json.loads((saved / "corpus.json").read_text())
    (saved / "corpus.json").write_text(json.dumps({**card, **change}))
    assert fails(saved).what == what


@pytest.mark.parametrize(
    ("name", "change", "what"),
    [
        ("captions", {"text": pl.lit(3)}, "the column 'text' of captions.parquet has type Int32"),
        ("captions", {"text": pl.lit(None)}, "captions.parquet has a row without 'text'"),
        ("captions", {"image": pl.lit("z")}, "caption 1 belongs to image z, which is not listed"),
        ("images", {"id": pl.lit("a")}, "the image id 'a' occurs twice"),
        ("images", {"objects": pl.lit(7)}, "the column 'objects' of images.parquet has type Int32"),
    ],
)
def test_a_table_that_was_changed_is_refused(saved, fails, name, change, what):
    path = saved / f"{name}.parquet"
    pl.read_parquet(path).with_columns(**change).write_parquet(path)
    error = fails(saved)
    assert error.what == what
    assert str(path) in error.where


def test_a_corpus_prints_short_counts_images_and_gives_out_pictures(saved):
    corpus = read_corpus(saved)
    assert repr(corpus) == "<Corpus mine: 2 images, 1 captions>"
    assert len(corpus) == 2 and [picture.id for picture in corpus] == ["a", "b"]
    assert "<td>a</td><td>A dog.</td>" in corpus._repr_html_()
