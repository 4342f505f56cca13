"""Tables: CSV, TSV, JSONL and Parquet, with paths of pictures or with pictures inside."""

from __future__ import annotations

import gzip
import hashlib
import io
import json

import polars as pl
import pytest
from PIL import Image

from tellapart.corpus import tabular
from tellapart.corpus.corpus import save_corpus
from tellapart.corpus.native import load_corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.errors import BadImage

ROWS = [
    {"image": "b.jpg", "caption": "A dog."},
    {"image": "a.jpg", "caption": "A cat, and a hat."},
    {"image": "b.jpg", "caption": "One dog."},
]


def jsonl(rows):
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n"


def parquet(table):
    file = io.BytesIO()
    pl.DataFrame(table).write_parquet(file)
    return file.getvalue()


def content(kind, rows):
    if kind == "parquet":
        return parquet(rows)
    if kind == "jsonl":
        return jsonl(rows)
    return pl.DataFrame(rows).write_csv(separator="\t" if kind == "tsv" else ",")


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_rows_of_an_image_are_merged_and_the_order_is_kept(put, texts, jpeg, kind, gz):
    put("b.jpg", jpeg)
    corpus = read_corpus(put(f"mine.{kind}{gz}", content(kind, ROWS)))
    assert corpus.name == "mine"
    assert corpus.images["id"].to_list() == ["b.jpg", "a.jpg"]
    assert texts(corpus) == [
        ("mine:1", "b.jpg", "A dog."),
        ("mine:2", "a.jpg", "A cat, and a hat."),
        ("mine:3", "b.jpg", "One dog."),
    ]
    assert corpus.picture("b.jpg").open().size == (8, 6)
    assert corpus.objects("b.jpg") is None


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_list_of_captions_is_several_captions(put, texts, kind):
    rows = [
        {"image": "a.jpg", "caption": ["A dog.", "One dog."], "id": None},
        {"image": "b.jpg", "caption": ["A cat."], "id": 77},
    ]
    corpus = read_corpus(put(f"mine.{kind}", content(kind, rows)))
    assert texts(corpus) == [
        ("mine:1/1", "a.jpg", "A dog."),
        ("mine:1/2", "a.jpg", "One dog."),
        ("77/1", "b.jpg", "A cat."),
    ]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_ids_are_taken_from_their_columns(put, texts, kind):
    rows = [
        {"image": "x/1.jpg", "caption": "A dog.", "image_id": 139, "caption_id": "007"},
        {"image": "x/1.jpg", "caption": "A dog.", "image_id": 139, "caption_id": "008"},
    ]
    corpus = read_corpus(put(f"mine.{kind}", content(kind, rows)))
    assert texts(corpus) == [("007", "139", "A dog."), ("008", "139", "A dog.")]
    assert corpus.images.select("id", "uri").rows() == [("139", "x/1.jpg")]


def test_caption_id_goes_before_id(put, texts):
    rows = [{"image": "a.jpg", "caption": "A dog.", "id": "row", "caption_id": "c"}]
    assert texts(read_corpus(put("m.csv", content("csv", rows)))) == [("c", "a.jpg", "A dog.")]


def test_other_columns_can_be_named(put):
    path = put("mine.csv", "file,text,caption\na.jpg,A dog.,\n")
    options = ReadOptions(image_column="file", caption_column="text")
    corpus = read_corpus(path, options)
    assert corpus.texts_by_image == {"a.jpg": ["A dog."]}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_objects_are_lists_or_text_with_semicolons_and_add_up(put, kind):
    listed = [["dog", "ball"], ["dog", "person"], None, []]
    if kind == "csv":
        listed = ["dog; ball", "dog;person;", None, ";"]
    images = ["a.jpg", "a.jpg", "b.jpg", "c.jpg"]
    rows = [
        {"image": image, "caption": "x", "objects": objects}
        for image, objects in zip(images, listed, strict=True)
    ]
    corpus = read_corpus(put(f"mine.{kind}", content(kind, rows)))
    assert corpus.images["objects"].to_list() == [["ball", "dog", "person"], None, []]


def test_pictures_lie_in_the_named_folder(put, jpeg, tmp_path):
    put("images/sub/a.jpg", jpeg)
    path = put("tables/mine.csv", "image,caption\nsub/a.jpg,A dog.\n")
    corpus = read_corpus(path, ReadOptions(images=tmp_path / "images"))
    assert corpus.picture("sub/a.jpg").open().size == (8, 6)


def test_a_line_separator_inside_a_jsonl_caption_does_not_split_the_line(put):
    corpus = read_corpus(put("m.jsonl", jsonl([{"image": "a.jpg", "caption": "A\u2028dog."}])))
    assert corpus.captions["text"].to_list() == ["A\u2028dog."]


def pictures(count):
    files = []
    for shade in range(count):
        file = io.BytesIO()
        Image.new("RGB", (4 + shade, 4), (shade, 0, 0)).save(file, "PNG")
        files.append(file.getvalue())
    return files


@pytest.mark.parametrize("gz", ["", ".gz"])
@pytest.mark.parametrize("form", ["bytes", "struct"])
def test_pictures_inside_parquet_are_opened_from_where_they_are(
    put, monkeypatch, tmp_path, gz, form
):
    monkeypatch.setattr(tabular, "SLICE", 2)
    monkeypatch.setattr("tellapart.pictures.BLOCK", 2)
    first, second, third = pictures(3)
    inside = [first, second, first, third, second]
    cells = inside if form == "bytes" else [{"bytes": one, "path": "x.png"} for one in inside]
    table = {"the image": cells, "caption": [f"caption {n}" for n in range(5)]}
    path = put(f"mine.parquet{gz}", parquet(table))
    corpus = read_corpus(path, ReadOptions(image_column="the image"))

    hashes = [hashlib.sha256(one).hexdigest() for one in (first, second, third)]
    assert corpus.images.select("id", "sha256").rows() == [(h[:16], h) for h in hashes]
    assert corpus.image(hashes[2][:16]).uri == f"mine.parquet{gz}#column=the%20image&row=3"
    assert corpus.captions["id"].to_list() == [f"mine:{n}" for n in range(1, 6)]
    assert corpus.captions["image"].to_list() == [hashes[n][:16] for n in (0, 1, 0, 2, 1)]
    sizes = [corpus.picture(h[:16]).open().size for h in hashes]
    assert sizes == [(4, 4), (5, 4), (6, 4)]

    save_corpus(corpus, tmp_path / "deep" / "saved")
    again = load_corpus(tmp_path / "deep" / "saved")
    assert again.picture(hashes[2][:16]).read() == third


def test_a_struct_without_bytes_points_to_its_path(put, jpeg, tmp_path):
    put("images/a.jpg", jpeg)
    cells = [{"bytes": None, "path": "a.jpg"}, {"bytes": jpeg + b" ", "path": None}]
    path = put("t/mine.parquet", parquet({"image": cells, "caption": ["A dog.", "One dog."]}))
    corpus = read_corpus(path, ReadOptions(images=tmp_path / "images"))
    assert [corpus.picture(i).open().size for i in corpus.images["id"]] == [(8, 6), (8, 6)]
    assert corpus.images["id"][0] == "a.jpg"


def test_picture_bytes_are_not_kept_after_reading(put):
    table = {"image": pictures(3), "caption": ["x"] * 3}
    corpus = read_corpus(put("m.parquet", parquet(table)))
    assert pl.Binary not in corpus.images.schema.values()
    assert corpus.images.estimated_size() < 1000


def test_broken_bytes_are_an_error_when_the_picture_is_opened(put, jpeg):
    table = {"image": [jpeg[: len(jpeg) * 3 // 4]], "caption": ["A dog."], "image_id": ["a"]}
    corpus = read_corpus(put("m.parquet", parquet(table)))
    with pytest.raises(BadImage, match="image a is broken"):
        corpus.picture("a").open()


def test_a_table_of_pictures_that_is_gone_is_an_error_when_the_picture_is_opened(put, jpeg):
    path = put("m.parquet", parquet({"image": [jpeg], "caption": ["x"], "image_id": ["a"]}))
    corpus = read_corpus(path)
    path.unlink()
    with pytest.raises(BadImage, match="the table with the images is missing"):
        corpus.picture("a").open()


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_a_column_that_is_not_there_is_named_with_those_near_it(put, fails, kind):
    rows = [{"image": "a.jpg", "captions": "A dog."}]
    path = put(f"mine.{kind}", content(kind, rows))
    error = fails(path)
    assert error.what == "there is no column called 'caption'"
    assert error.where == str(path)
    assert error.allowed == "captions, image"
    assert "did you mean captions?" in error.todo
    assert "name the column to use" in error.todo


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([{"image": "a.jpg", "caption": 12}], "caption m:2 is int (12), not text"),
        ([{"image": "a.jpg", "caption": ["x", 12]}], "caption m:2/2 is int (12), not text"),
        ([{"image": "a.jpg", "caption": {"x": 1}}], "caption m:2 is dict ({'x': 1}), not text"),
        ([{"image": "a.jpg", "caption": ""}], "caption m:2 is empty"),
        ([{"image": "a.jpg", "caption": []}], "caption m:2 is list ([]), not text"),
        ([{"image": "a.jpg"}], "caption m:2 is missing"),
        ([{"caption": "A dog."}], "row 2 of m.jsonl has no image"),
        ([{"image": " ", "caption": "A dog."}], "row 2 of m.jsonl has no image"),
        ([{"image": 12, "caption": "A dog."}], "the image in row 2 of m.jsonl is int (12)"),
        (
            [{"image": "a.jpg", "caption": "A dog.", "image_id": 1.5}],
            "an id in row 2 of m.jsonl is float (1.5)",
        ),
        (
            [{"image": "a.jpg", "caption": "A dog.", "objects": [3]}],
            "the objects in row 2 of m.jsonl are list ([3])",
        ),
        (
            [{"image": "c.jpg", "caption": "A dog.", "image_id": "b.jpg"}],
            "image b.jpg is a different picture in row 2 of m.jsonl than before",
        ),
        (
            [{"image": "b.jpg", "caption": "A dog.", "id": "m:1"}],
            "the caption id 'm:1' occurs twice",
        ),
        (
            [{"image": "a.jpg", "caption": "A \ud800 dog."}],
            "caption 'm:2' has a character that is not Unicode: 'A \\ud800 dog.'",
        ),
    ],
)
def test_a_bad_row_is_named(put, fails, rows, what):
    lines = "\n".join(json.dumps(row) for row in [ROWS[0], *rows, ROWS[1]])
    path = put("m.jsonl", lines)
    error = fails(path)
    assert error.what == what
    assert error.where == f"{path}, row 2"
    assert error.allowed
    assert "--skip-bad" in error.todo
    corpus = read_corpus(path, ReadOptions(skip_bad=True))
    assert corpus.captions.height >= 2
    assert corpus.skipped == (what,)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [("jsonl", [3, 4]), ("parquet", [3, 4]), ("parquet", [3.5, 4.5]), ("parquet", [[3], [4]])],
)
def test_captions_that_are_all_numbers_are_not_text(put, fails, kind, rows):
    rows = [{"image": "a.jpg", "caption": caption} for caption in rows]
    error = fails(put(f"mine.{kind}", content(kind, rows)))
    assert "not text" in error.what
    assert error.where.endswith(f"mine.{kind}, row 1")
    assert error.todo.startswith("write the caption as text")


def test_a_caption_that_a_csv_leaves_out_is_missing(put, fails):
    error = fails(put("mine.csv", "image,caption\na.jpg,A dog.\nb.jpg,\n"))
    assert error.what == "caption mine:2 is missing"
    assert error.where.endswith("mine.csv, row 2")


@pytest.mark.parametrize(
    ("name", "data", "what"),
    [
        ("m.csv", "", "m.csv is empty"),
        ("m.jsonl", "\n", "m.jsonl is empty"),
        ("m.jsonl", "hello\n", "line 1 of m.jsonl is not JSON"),
        ("m.jsonl", "[1]\n", "line 1 of m.jsonl is not an object"),
        ("m.csv", "image,caption\na.jpg,A dog.,and more\n", "m.csv is not a whole .csv file"),
        ("m.parquet", b"hello", "m.parquet is not an intact .parquet file"),
        ("m.parquet", b"", "m.parquet is not an intact .parquet file"),
        ("m.parquet", parquet(ROWS)[:-20], "m.parquet is not an intact .parquet file"),
        ("m.parquet.gz", b"hello", "m.parquet.gz is not an intact .parquet file"),
        ("m.csv", "image,caption\n", "m has no captions"),
        ("m.parquet", parquet(pl.DataFrame(ROWS).head(0)), "m has no captions"),
    ],
)
def test_a_file_that_is_not_such_a_table_says_so(put, fails, name, data, what):
    error = fails(put(name, data))
    assert error.what.startswith(what)
    assert error.where


def test_a_parquet_file_with_damage_inside_says_so(put, fails):
    data = bytearray(parquet({"image": [f"{n}.jpg" for n in range(500)], "caption": ["x"] * 500}))
    data[4:200] = bytes(196)
    assert "m.parquet is not an intact .parquet file" in fails(put("m.parquet", bytes(data))).what


def test_gzip_of_a_gzip_is_not_text(put, fails):
    path = put("m.csv.gz", gzip.compress(b"image,caption\n"))
    assert "is not UTF-8 text" in fails(path).what


def test_an_object_whose_name_is_no_unicode_is_a_bad_row(put, fails):
    lines = [json.dumps(row) for row in (ROWS[0], {**ROWS[1], "objects": ["\ud800"]})]
    path = put("m.jsonl", "\n".join(lines))
    error = fails(path)
    assert "or of an object, is not Unicode text" in error.what
    assert error.where == f"{path}, row 2"
    assert read_corpus(path, ReadOptions(skip_bad=True)).captions.height == 1


def test_a_date_that_python_has_no_place_for_is_refused(put, fails):
    dates = pl.Series([2**60, 2**61]).cast(pl.Datetime("ms"))
    data = parquet(pl.DataFrame({"image": ["a.jpg", "b.jpg"], "caption": dates}))
    assert fails(put("m.parquet", data)).where
