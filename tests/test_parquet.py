"""Broken Parquet files are refused, also those that end the process of whoever reads them."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import polars as pl
import pytest

from tellapart import parquet
from tellapart.errors import BadInput
from tellapart.files import read_table

COLUMNS = {"id": pl.String, "sides": pl.List(pl.Int32)}


def plain() -> bytes:
    """A small file without compression, in which every bit means something."""
    file = io.BytesIO()
    table = pl.DataFrame({"image": ["a.jpg"], "caption": ["A dog."]})
    table.write_parquet(file, compression="uncompressed", statistics=False)
    return file.getvalue()


def test_no_bit_turned_over_ends_the_process_or_shows_on_stderr(tmp_path, capfd):
    # Among these are files over which Polars panics, asks for 2 ** 61 bytes and aborts.
    whole, path, refused = plain(), tmp_path / "a.parquet", 0
    for place in range(0, 8 * len(whole), 7):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            read_table(path)
        except BadInput as error:
            assert error.what.startswith("a.parquet is not an intact .parquet file: ")
            assert error.todo == "get or write the file again"
            refused += 1
    assert refused > 100
    assert capfd.readouterr().err == ""


def test_a_file_that_may_not_be_read_is_not_called_broken(tmp_path, monkeypatch):
    path = tmp_path / "items.parquet"
    pl.DataFrame({"a": [1]}).write_parquet(path)
    monkeypatch.setattr("tellapart.parquet.os.access", lambda *asked: False)
    with pytest.raises(BadInput, match=r"no permission to read items\.parquet"):
        parquet.read_parquet(path)


def test_a_file_is_read_after_one_that_ended_the_trial(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(plain())
    assert read_table(path).height == 1
    parquet._trials[os.getpid()].send_signal(signal.SIGABRT)
    with pytest.raises(BadInput, match="Polars crashes when reading it"):
        read_table(path)
    assert read_table(path).height == 1


def test_a_file_is_read_where_the_system_sets_limits_that_may_not_be_raised(tmp_path):
    """As batch systems do: `ulimit -t` and `ulimit -v`. A process may only lower them."""
    path = tmp_path / "a.parquet"
    path.write_bytes(plain())
    limited = (
        "import resource, sys; from pathlib import Path\n"
        "from tellapart.files import read_table\n"
        "for what, most in ((resource.RLIMIT_CPU, 3600), (resource.RLIMIT_AS, 1 << 40)):\n"
        "    resource.setrlimit(what, (most, most))\n"
        "print(read_table(Path(sys.argv[1])).height)"
    )
    told = subprocess.run(
        [sys.executable, "-c", limited, str(path)], capture_output=True, text=True, check=False
    )
    assert (told.stdout, told.stderr) == ("1\n", "")


def test_a_file_is_whole_however_long_the_machine_leaves_its_trial_waiting(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(plain())
    read_table(path)
    trial = parquet._trials[os.getpid()]
    monkeypatch.setattr(parquet, "SECONDS", 0.3)
    trial.send_signal(signal.SIGSTOP)
    later = threading.Timer(1.0, trial.send_signal, (signal.SIGCONT,))
    later.start()
    assert read_table(path).height == 1
    later.join()


def test_a_file_that_takes_too_much_processor_time_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(plain())
    read_table(path)
    parquet._trials[os.getpid()].send_signal(signal.SIGXCPU)
    with pytest.raises(BadInput, match="Polars takes more than 20 s to read it"):
        read_table(path)


def test_a_trial_that_ended_of_itself_is_no_fault_of_the_file(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(plain())
    read_table(path)
    trial = parquet._trials[os.getpid()]
    trial.stdin.close()
    trial.stdin = (tmp_path / "pipe").open("w")  # nobody reads what is written there
    assert read_table(path).height == 1


def test_where_no_process_can_be_started_files_are_read_without_a_trial(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(plain())
    monkeypatch.setattr(parquet, "_trials", {})
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no python here"))
    assert read_table(path).height == 1


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (pl.Series("id", [3, 4]), "the column 'id' of a.parquet has type Int64"),
        (pl.Series("id", ["a", None]), "a.parquet has a row without 'id'"),
        (pl.Series("sides", ["a", "b"]), "the column 'sides' of a.parquet has type String"),
        (pl.Series("sides", [[1], [None]]), "a.parquet has a row without 'sides'"),
        (
            pl.Series("sides", [{"a": [1]}, {"a": [2]}]),
            "the column 'sides' of a.parquet has type Struct({'a': List(Int64)})",
        ),
        (pl.Series("sides", [[2**40], []]), "the column 'sides' of a.parquet has type List(Int64)"),
    ],
)
def test_a_column_of_our_own_tables_must_have_its_type(column, what):
    table = pl.DataFrame({"id": ["a", "b"], "sides": [[1], [2, 3]]}).with_columns(column)
    with pytest.raises(BadInput) as caught:
        parquet.typed(table, COLUMNS, Path("a.parquet"), filled=("id", "sides"))
    assert caught.value.what == what


def test_what_another_writer_changed_is_changed_back():
    table = pl.DataFrame({"sides": [[1], []], "id": ["a", "b"], "more": [1, 2]})
    found = parquet.typed(table, COLUMNS, Path("a.parquet"), filled=("id", "sides"))
    assert dict(found.schema) == COLUMNS
