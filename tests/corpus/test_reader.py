"""Which reader is taken, and what is said where none fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tellapart import registry
from tellapart.corpus import reader
from tellapart.corpus.reader import ORDER, ReadOptions, name_of, picture_folder, read_corpus
from tellapart.errors import BadInput

COCO = {
    "images": [{"id": 1, "file_name": "a.jpg"}],
    "annotations": [{"id": 7, "image_id": 1, "caption": "A dog."}],
}


@pytest.mark.parametrize(
    ("name", "content", "reader"),
    [
        ("a.json", COCO, "coco"),
        ("a.json.gz", COCO, "coco"),
        ("annotations-first.json", {"annotations": [], "images": []}, "coco"),
        ("a.token", "a.jpg#0\tA dog.\n", "flickr"),
        ("a.txt", "\n\na.jpg#0\tA dog.\n", "flickr"),
        ("a.token.txt.gz", "a.jpg#0\tA dog.\n", "flickr"),
        ("a.csv", "image,caption\na.jpg,A dog.\n", "table"),
        ("a.TSV.gz", "image\tcaption\na.jpg\tA dog.\n", "table"),
        ("a.jsonl", '{"image": "a.jpg", "caption": "A dog."}\n', "table"),
        ("a.parquet", b"PAR1", "table"),
    ],
)
def test_exactly_one_built_in_reader_fits_each_form(put, name, content, reader):
    path = put(name, content)
    assert [each for each in ORDER if registry.readers.get(each).fits(path)] == [reader]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("list.json", [1, 2]),
        ("other.json", {"cat": ["feline"]}),
        ("no-number.txt", "a.jpg#\tA dog."),
        ("later.txt", "A title\na.jpg#0\tA dog."),
        ("plain.txt", "A dog.\n"),
        ("a.md", "# hello"),
        ("empty.txt", ""),
    ],
)
def test_a_file_that_no_reader_fits_is_an_error_that_lists_the_forms(put, fails, name, content):
    error = fails(put(name, content))
    assert f"{name} does not look like any supported corpus format" in error.what
    assert name in error.where
    assert all(f"{reader} = " in error.allowed for reader in ORDER)
    assert "format=" in error.todo and "--format" not in error.todo


def test_a_json_file_that_is_not_json_says_so_rather_than_that_nothing_fits(put, fails):
    error = fails(put("a.json", "hello"))
    assert error.what.startswith("a.json is not JSON")
    assert "line 1, column 1" in error.where


def test_a_path_that_is_not_there_is_an_error_that_lists_the_forms(tmp_path, fails):
    error = fails(tmp_path / "nothing.csv")
    assert error.what == "there is no file or folder nothing.csv"
    assert str(tmp_path) in error.where
    assert "coco = " in error.allowed
    assert error.todo == "check the path"


def test_the_reader_can_be_named_and_a_near_name_is_suggested(put, fails):
    path = put("captions.dat", COCO)
    assert read_corpus(str(path), format="coco").captions.height == 1
    error = fails(path, format="cocoa")
    assert "no reader called 'cocoa'" in error.what
    assert "did you mean coco?" in error.todo


def test_a_plugin_is_asked_after_the_built_in_readers(put, monkeypatch):
    class Plugin:
        about = "anything"

        def fits(self, path):
            return True

        def read(self, path, options):
            raise BadInput("the plugin was asked")

    known = {name: registry.readers.get(name) for name in ORDER}

    class Readers:
        def names(self):
            return ["any", *sorted(known)]

        def get(self, name):
            return Plugin() if name == "any" else known[name]

    monkeypatch.setattr(reader, "readers", Readers())
    assert read_corpus(put("a.json", COCO)).captions.height == 1
    with pytest.raises(BadInput, match="the plugin was asked"):
        read_corpus(put("a.xyz", "?"))


@pytest.mark.parametrize(
    "name", ["a.json.gz", "a.txt.gz", "a.token.gz", "a.csv.gz", "a.parquet.gz"]
)
@pytest.mark.parametrize("broken", ["not packed", "cut short"])
def test_a_broken_gz_says_so_in_every_form(put, fails, name, broken):
    path = put(name, "a.jpg#0\tA dog.\n" * 1000)
    packed = path.read_bytes()
    path.write_bytes(b"plain text" if broken == "not packed" else packed[: len(packed) // 2])
    error = fails(path)
    assert error.what == f"{name} is not a whole gzip file"
    assert error.where == str(path)
    assert "download or pack it again" in error.todo


@pytest.mark.parametrize("name", ["a.json", "a.txt", "a.csv", "a.tsv", "a.jsonl"])
def test_text_that_is_not_utf_8_names_the_byte(put, fails, name):
    start = {"a.json": b'{"images": [], "', "a.txt": b"a.jpg#0\t"}.get(name, b"image,")
    error = fails(put(name, start + "café".encode("latin1")))
    assert error.what == f"{name} is not UTF-8 text"
    assert f"byte {len(start) + 3}" in error.where
    assert error.allowed == "UTF-8"
    assert "iconv" in error.todo


def test_a_folder_of_images_that_is_not_there_is_an_error(put, fails, tmp_path):
    for path in (
        put("a.json", COCO),
        put("a.txt", "a.jpg#0\tA dog.\n"),
        put("a.csv", "image,caption\n"),
    ):
        error = fails(path, images=tmp_path / "imgs")
        assert error.what == "there is no folder imgs with images"
        assert "--images" in error.todo


def test_names_come_from_files_and_folders(tmp_path):
    assert name_of(Path("x/captions_val2014.json.gz")) == "captions_val2014"
    assert name_of(Path("Flickr8k.token.txt")) == "Flickr8k"
    assert name_of(tmp_path / ".." / tmp_path.name) == tmp_path.name


def test_the_folder_of_pictures_is_the_named_one_then_a_usual_one_then_the_files_own(tmp_path):
    path = tmp_path / "a.txt"
    assert picture_folder(path, ReadOptions(), "images") == tmp_path
    (tmp_path / "images").mkdir()
    assert picture_folder(path, ReadOptions(), "images") == tmp_path / "images"
    assert picture_folder(path, ReadOptions(images=tmp_path), "images") == tmp_path


def test_skip_bad_carries_on_in_every_form_and_lists_what_it_left_out(put, jpeg):
    coco = {**COCO, "annotations": [*COCO["annotations"], {"id": 8, "image_id": 1, "caption": ""}]}
    put("pictures/a.jpg", jpeg), put("pictures/a.txt", "A dog.\n"), put("pictures/b.jpg", jpeg)
    table = put("a.csv", 'image,caption\na.jpg,A dog.\na.jpg," "\n')
    bad = [
        (put("a.json", coco), "caption 8 is empty"),
        (put("a.txt", "a.jpg#0\tA dog.\na.jpg#1\t \n"), "caption a.jpg#1 is empty"),
        (table, "caption a:2 is empty"),
        (table.parent / "pictures", "the picture b.jpg has no b.txt beside it"),
    ]
    for path, what in bad:
        with pytest.raises(BadInput) as caught:
            read_corpus(path)
        assert caught.value.what == what
        assert "skip the bad rows with --skip-bad" in caught.value.todo
        corpus = read_corpus(path, ReadOptions(skip_bad=True))
        assert corpus.captions["text"].to_list() == ["A dog."]
        assert corpus.skipped == (what,)
