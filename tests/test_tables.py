"""Files are written whole or not at all."""

from __future__ import annotations

import polars as pl
import pytest

from tellapart.errors import BadInput
from tellapart.tables import whole_file, whole_folder, write_json, write_parquet


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
