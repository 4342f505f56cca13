"""Bytes to text to JSON: what broken files say."""

from __future__ import annotations

import gzip
import json

import pytest

from tellapart.decoding import fields_of
from tellapart.errors import BadInput
from tellapart.tables import read_bytes, read_json, read_table, read_text

LONG = "7" * 5_000


def refused(read, path):
    with pytest.raises(BadInput) as caught:
        read(path)
    return caught.value


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16le", "utf-16be", "latin1"])
def test_text_that_is_not_utf_8_says_what_to_convert_it_from(tmp_path, encoding):
    path = tmp_path / "a.csv"
    path.write_bytes("image,caption\na.jpg,Ein Café, ein Hund und Müller\n".encode(encoding))
    error = refused(read_text, path) if encoding == "latin1" else refused(read_table, path)
    assert error.what == "a.csv is not UTF-8 text"
    assert f"iconv -f {encoding} -t utf-8 a.csv" in error.todo


def test_a_number_that_python_does_not_read_is_named(tmp_path):
    (tmp_path / "a.json").write_text(f'{{"id": {LONG}}}')
    error = refused(read_json, tmp_path / "a.json")
    assert error.what == "a.json has a number that is too long"
    assert error.allowed == "numbers of at most 4,300 digits"
    (tmp_path / "a.jsonl").write_text(f'{{"id": 1}}\n{{"id": {LONG}}}\n')
    error = refused(read_table, tmp_path / "a.jsonl")
    assert error.what == "line 2 of a.jsonl has a number that is too long"


def test_a_bomb_is_not_unpacked(tmp_path):
    path = tmp_path / "a.json.gz"
    path.write_bytes(gzip.compress(b" " * 20_000_000))
    error = refused(read_bytes, path)
    assert error.what == "a.json.gz unpacks to more than 100 times its size"
    assert "gunzip" in error.todo


def test_what_is_packed_well_is_still_unpacked(tmp_path):
    text = b'{"image": "a.jpg", "caption": "A dog on a lawn."}\n' * 20_000
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(text))
    assert read_bytes(tmp_path / "a.jsonl.gz") == text


@pytest.mark.parametrize("value", [[["a"]], {"a": [1]}, [{"b": {}}], ["a", 1], 2**70, 1e400])
def test_values_of_json_reach_the_reader_as_they_are(tmp_path, value):
    rows = [{"a": value}, {"a": "text"}, {"a": None}, {"a": value}]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert read_table(tmp_path / "a.jsonl").to_dicts() == rows


def test_a_key_that_is_no_unicode_is_a_column_that_nobody_asks_for(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"image": "a.jpg", "\\ud800": 1}\n')
    assert read_table(tmp_path / "a.jsonl")["image"].to_list() == ["a.jpg"]


def test_rows_that_share_no_keys_are_refused_before_they_fill_the_memory(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(f'{{"{k}": 0}}\n' for k in range(8_000)))
    error = refused(read_table, tmp_path / "a.jsonl")
    assert error.what == "the rows of a.jsonl have 8,000 different keys"


def test_fields_of_a_card_are_checked(tmp_path):
    kinds = {"name": str, "skipped": list, "made": dict}
    path = tmp_path / "card.json"
    assert fields_of({"name": "a", "skipped": ["b"]}, kinds, path) == {
        "name": "a",
        "skipped": ("b",),
    }
    for data, what in (
        ({"name": 3}, '"name" in card.json is int'),
        ({"skipped": [1]}, '"skipped" in card.json is list'),
        ({"made": None}, '"made" in card.json is NoneType'),
    ):
        with pytest.raises(BadInput) as caught:
            fields_of(data, kinds, path)
        assert caught.value.what == what and caught.value.allowed
    with pytest.raises(BadInput, match=r'"name" in .* is NoneType'):
        fields_of({}, kinds, path, needed=("name",))
