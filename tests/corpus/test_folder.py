"""Folders of pictures with text files beside them."""

from __future__ import annotations

import os
import sys

import pytest

from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.errors import BadImage


@pytest.fixture
def folder(tmp_path, put, jpeg):
    put("pictures/b.JPG", jpeg)
    put("pictures/b.txt", "\ufeffA dog.\r\n\r\n  One dog.  \r\n")
    put("pictures/a/z.png", b"never opened")
    put("pictures/a/z.txt.gz", "A cat.")
    put("pictures/.hidden/c.jpg", jpeg)
    put("pictures/._b.jpg", b"")
    put("pictures/README.txt", "not a caption")
    return tmp_path / "pictures"


def test_pictures_and_captions_are_read_in_the_order_of_their_paths(folder, texts):
    corpus = read_corpus(folder)
    assert corpus.name == "pictures"
    assert corpus.images["id"].to_list() == ["a/z.png", "b.JPG"]
    assert texts(corpus) == [
        ("a/z.png#0", "a/z.png", "A cat."),
        ("b.JPG#0", "b.JPG", "A dog."),
        ("b.JPG#1", "b.JPG", "One dog."),
    ]
    assert corpus.picture("b.JPG").open().size == (8, 6)


def test_no_picture_is_opened_when_the_folder_is_read(folder):
    corpus = read_corpus(folder)
    with pytest.raises(BadImage, match=r"image a/z\.png is broken: not a picture"):
        corpus.picture("a/z.png").open()


@pytest.mark.parametrize("ending", ["jpg", "jpeg", "png", "webp", "gif", "bmp"])
def test_every_ending_of_pictures_counts(tmp_path, put, ending):
    put(f"p/a.{ending}", b""), put("p/a.txt", "A dog.")
    assert read_corpus(tmp_path / "p").images["id"].to_list() == [f"a.{ending}"]


def test_objects_can_be_given_by_path(folder, put):
    options = ReadOptions(objects=put("objects.json", {"a/z.png": ["cat"]}))
    assert read_corpus(folder, options).images["objects"].to_list() == [["cat"], None]


def test_a_picture_without_a_text_file_is_named(folder, put, fails):
    put("pictures/a/lone.gif", b"")
    error = fails(folder)
    assert error.what == "the picture a/lone.gif has no lone.txt beside it"
    assert error.where == str(folder / "a/lone.gif")
    assert ".txt.gz" in error.allowed
    assert "--skip-bad" in error.todo
    corpus = read_corpus(folder, ReadOptions(skip_bad=True))
    assert corpus.images["id"].to_list() == ["a/z.png", "b.JPG"]


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_a_text_file_without_a_caption_is_an_empty_caption(folder, put, fails, content):
    put("pictures/b.txt", content)
    error = fails(folder)
    assert error.what == "caption b.JPG#0 is empty"
    assert str(folder / "b.txt") in error.where


def test_a_text_file_that_cannot_be_read_is_a_problem_that_can_be_skipped(folder, put, fails):
    put("pictures/b.txt", b"caf\xe9")
    assert fails(folder).what == "b.txt is not UTF-8 text"
    corpus = read_corpus(folder, ReadOptions(skip_bad=True))
    assert corpus.images["id"].to_list() == ["a/z.png"]
    assert corpus.skipped == ("b.txt is not UTF-8 text",)


def test_a_broken_gz_is_a_problem_that_can_be_skipped(folder, fails):
    (folder / "a/z.txt.gz").write_bytes(b"plain")
    assert fails(folder).what == "z.txt.gz is not a whole gzip file"
    assert read_corpus(folder, ReadOptions(skip_bad=True)).images["id"].to_list() == ["b.JPG"]


@pytest.mark.parametrize("inside", [[], ["notes.txt", "a.pdf"]])
def test_a_folder_without_pictures_is_an_error(tmp_path, put, fails, inside):
    (tmp_path / "empty").mkdir()
    for name in inside:
        put(f"empty/{name}", "x")
    error = fails(tmp_path / "empty")
    assert error.what == "the folder empty contains no pictures"
    assert ".jpg .jpeg .png .webp .gif .bmp" in error.allowed
    assert "the file with the captions" in error.todo


def test_another_folder_of_images_is_refused(folder, tmp_path, fails):
    assert "omit --images" in fails(folder, images=tmp_path).todo


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such file names")
def test_a_file_name_that_is_not_unicode_is_a_problem_that_can_be_skipped(folder, fails):
    for name in (b"caf\xe9.jpg", b"caf\xe9.txt"):
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:  # noqa: PTH118, PTH123
            file.write(b"A cup.")
    error = fails(folder)
    assert "is not Unicode text" in error.what
    assert "rename the file" in error.todo
    str(error).encode()
    corpus = read_corpus(folder, ReadOptions(skip_bad=True))
    assert corpus.images["id"].to_list() == ["a/z.png", "b.JPG"]
