"""Flickr token files."""

from __future__ import annotations

import pytest

from tellapart.corpus.reader import ReadOptions, read_corpus

LINES = "b.jpg#0\tA dog.\nb.jpg#1\tOne dog .\n\na #2.jpg#0\tA cat\twith a tab.\n"


@pytest.mark.parametrize("name", ["x.token", "x.token.txt", "x.txt", "x.token.gz", "x.txt.gz"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_ids_are_file_names_and_the_order_is_kept(put, texts, name, newline):
    corpus = read_corpus(put(name, LINES.replace("\n", newline)))
    assert corpus.name == "x"
    assert corpus.images["id"].to_list() == ["b.jpg", "a #2.jpg"]
    assert texts(corpus) == [
        ("b.jpg#0", "b.jpg", "A dog."),
        ("b.jpg#1", "b.jpg", "One dog ."),
        ("a #2.jpg#0", "a #2.jpg", "A cat\twith a tab."),
    ]


@pytest.mark.parametrize("folder", [".", "images", "Images", "Flickr8k_Dataset"])
def test_pictures_are_found_in_the_usual_folders(put, jpeg, folder):
    put(f"{folder}/b.jpg", jpeg), put(f"{folder}/a #2.jpg", jpeg)
    corpus = read_corpus(put("x.token", LINES))
    assert corpus.picture("b.jpg").open().size == (8, 6)
    assert corpus.picture("a #2.jpg").open().size == (8, 6)


def test_the_named_folder_of_images_goes_first(put, jpeg, tmp_path):
    put("images/b.jpg", b"broken"), put("mine/b.jpg", jpeg)
    corpus = read_corpus(put("x.token", LINES), ReadOptions(images=tmp_path / "mine"))
    assert corpus.picture("b.jpg").open().size == (8, 6)


def test_objects_can_be_given_by_file_name(put):
    objects = put("objects.json", {"b.jpg": ["dog"]})
    corpus = read_corpus(put("x.token", LINES), ReadOptions(objects=objects))
    assert corpus.images["objects"].to_list() == [["dog"], None]


@pytest.mark.parametrize(
    ("line", "what", "allowed"),
    [
        ("b.jpg#1\tAgain.", "the caption id 'b.jpg#1' occurs twice", "every id once"),
        ("b.jpg#2\t", "caption b.jpg#2 is empty", "text"),
        (
            "b.jpg A dog.",
            "row 5 of x.token is not an image, a tab and a caption",
            "name.jpg#0, a tab, a caption",
        ),
    ],
)
def test_a_bad_line_is_named(put, fails, line, what, allowed):
    path = put("x.token", LINES + line + "\n")
    error = fails(path)
    assert error.what == what
    assert error.where == f"{path}, row 5"
    assert error.allowed == allowed
    assert "--skip-bad" in error.todo
