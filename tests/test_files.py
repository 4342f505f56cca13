"""Files: what broken ones say when they are read; they are written whole or not at all."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys

import polars as pl
import pytest

from tellapart.errors import BadInput
from tellapart.files import (
    fields_of,
    read_bytes,
    read_json,
    read_table,
    read_text,
    whole_file,
    whole_folder,
    write_json,
    write_parquet,
)

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


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})
    with pytest.raises(RuntimeError), whole_file(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert "old" in path.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_failed_folder_leaves_nothing(tmp_path):
    with pytest.raises(RuntimeError), whole_folder(tmp_path / "out") as partial:
        (partial / "a").write_text("half")
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_a_failed_replacement_keeps_what_was_there(tmp_path):
    out = tmp_path / "out"
    with whole_folder(out) as partial:
        (partial / "a").write_text("first")
    with pytest.raises(RuntimeError), whole_folder(out, overwrite=True) as partial:
        (partial / "a").write_text("second")
        raise RuntimeError
    assert (out / "a").read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_is_there_is_not_overwritten_unasked(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("mine")
    with (
        pytest.raises(BadInput, match="already exists") as caught,
        whole_folder(tmp_path / "out"),
    ):
        pass
    assert "--overwrite" in caught.value.todo


def test_the_same_table_gives_the_same_bytes(tmp_path):
    table = pl.DataFrame({"a": [f"x{k}" for k in range(50_000)], "b": range(50_000)})
    write_parquet(tmp_path / "1.parquet", table)
    write_parquet(tmp_path / "2.parquet", table)
    assert (tmp_path / "1.parquet").read_bytes() == (tmp_path / "2.parquet").read_bytes()


WRITER = """
import os, signal, sys
from pathlib import Path
from tellapart import files
how, out = sys.argv[1], Path(sys.argv[2])
if how == "file":
    with files.whole_file(out) as partial:
        partial.write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
if how == "replaced":  # between the two steps of a replacement
    Path.rename = lambda self, to, rename=Path.rename: (
        os.kill(os.getpid(), signal.SIGKILL) if to == out and "old" not in self.name
        else rename(self, to))
with files.whole_folder(out, overwrite=True) as partial:
    (partial / "a").write_text("half")
    if how != "replaced":
        os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(how, out):
    done = subprocess.run([sys.executable, "-c", WRITER, how, str(out)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [p.name for p in out.parent.iterdir() if p.name.startswith(f".{out.name}.")]


def test_what_a_killed_process_left_is_taken_away_by_the_next(tmp_path):
    killed("folder", tmp_path / "out")
    killed("folder", tmp_path / "another")
    killed("file", tmp_path / "a.json")
    (tmp_path / ".out.settings").mkdir()  # of somebody else
    with whole_folder(tmp_path / "out") as partial:
        (partial / "a").write_text("whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == [".out.settings", "out"]


def test_what_a_killed_process_left_of_a_file_is_taken_away_by_the_next_to_write_there(tmp_path):
    killed("file", tmp_path / "a.json")
    write_json(tmp_path / "b.json", {})
    assert [p.name for p in tmp_path.iterdir()] == ["b.json"]


def test_a_folder_whose_replacement_was_killed_has_what_it_held(tmp_path):
    out = tmp_path / "out"
    with whole_folder(out) as partial:
        (partial / "a").write_text("first")
    killed("replaced", out)
    assert not out.exists()
    with pytest.raises(BadInput, match="already exists"), whole_folder(out):
        pass
    assert (out / "a").read_text() == "first" and [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_another_process_is_writing_is_left_alone(tmp_path):
    with whole_folder(tmp_path / "out") as partial, whole_file(tmp_path / "b.json") as file:
        (partial / "a").write_text("half")
        file.write_text("half")
        script = "import sys\nfrom pathlib import Path\nfrom tellapart import files\n"
        script += "with files.whole_folder(Path(sys.argv[1])) as made: (made / 'a').touch()"
        subprocess.run([sys.executable, "-c", script, str(tmp_path / "c")], check=True)
        assert (partial / "a").exists() and file.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["b.json", "c", "out"]
