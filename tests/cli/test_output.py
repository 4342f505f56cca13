"""What the program says beside its results: progress, notes, errors."""

from __future__ import annotations

import logging
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from tests.score.engine_models import Dual

import tellapart as ta
from tellapart.cli import main
from tellapart.cli.output import progress_lines
from tellapart.errors import DiskFull, disk_is_full
from tellapart.files import whole_file, whole_folder


def called(monkeypatch, *words: object) -> int:
    """The exit code of the program, run in this process."""
    monkeypatch.setattr(sys, "argv", ["tellapart", *map(str, words)])
    with pytest.raises(SystemExit) as ended:
        main.main()
    return int(ended.value.code or 0)


def test_without_a_terminal_progress_is_a_line_now_and_then():
    said: list[str] = []
    times = iter([0.0, 1.0, 9.0, 16.0, 17.0, 32.0])
    show = progress_lines(said.append, lambda: next(times), every=15)
    for done in (0, 10, 20, 30, 40):
        show("questions", done, 100)
    assert said == [
        "questions: 20 of 100, about 60 s left",
        "questions: 40 of 100, about 46 s left",
    ]


def test_progress_without_a_known_end_counts_and_promises_nothing():
    said: list[str] = []
    times = iter([0.0, 1.0, 20.0])
    show = progress_lines(said.append, lambda: next(times), every=15)
    for done in (0, 1200):
        show("people answer", done, 0)
    assert said == ["people answer: 1,200"]


def told(monkeypatch, capsys, *words: object) -> str:
    """What the program says of a mistake."""
    assert called(monkeypatch, *words) == 2
    return capsys.readouterr().err


def test_a_path_of_the_wrong_sort_is_named_as_it_was_given(
    benchmarks, tmp_path, monkeypatch, capsys
):
    file, folder = tmp_path / "notes.txt", tmp_path / "empty"
    file.write_text("hello")
    folder.mkdir()
    needed = f"error: {file} is a file, but a folder is needed here"
    bison = benchmarks["bison"].root
    for words in (
        ("evaluate", "chance", "--on", bison, "--out", file),
        ("world", file / "w", "--scenes", 2),
    ):
        assert needed in told(monkeypatch, capsys, *words)
    ta.evaluate(["chance"], on=benchmarks["bison"], out=tmp_path / "runs")
    said = told(monkeypatch, capsys, "report", tmp_path / "runs", "--out", folder)
    assert f"error: {folder} is a folder, but a file is needed here" in said


def test_a_value_that_is_no_number_is_named_with_what_is_allowed(tmp_path, monkeypatch, capsys):
    for words, seen in (
        (("--scenes", "many"), "error: --scenes many is not a whole number"),
        (("--seed=1.5",), "error: --seed 1.5 is not a whole number"),
    ):
        assert seen in told(monkeypatch, capsys, "world", tmp_path / "w", *words)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied", "/a/.w.023w8s37.tellapart"), "no permission"),
        (FileNotFoundError(2, "No such file", "/proc/.w.023w8s37.tellapart"), "cannot be found"),
        (OSError(5, "Input/output error", "/a/.w.023w8s37.tellapart"), "Input/output error"),
    ],
)
def test_an_error_of_the_system_names_the_path_that_was_given(error, words):
    shown = main.user_error(error)
    assert words in str(shown) and "/w" in str(shown) and ".w." not in str(shown)


class Broken(Dual):
    def embed_texts(self, texts):
        raise ZeroDivisionError("seven by nought")


def test_the_traceback_of_a_model_is_behind_debug(benchmarks, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tellapart.models.names.load", lambda name: Broken())
    words = ("evaluate", "chance", "--on", benchmarks["bison"].root, "--out", tmp_path / "runs")
    assert called(monkeypatch, *words) == 2
    plain = capsys.readouterr().err
    assert "seven by nought" in plain and "Traceback" not in plain and "--debug" in plain
    assert called(monkeypatch, *words, "--debug") == 2
    full = capsys.readouterr().err
    assert "Traceback" in full and "in embed_texts" in full and "error: " in full


class WriterError(Exception):
    """As libraries have errors of their own."""


FULL = "No space left on device"


@pytest.mark.parametrize(
    "error",
    [OSError(28, FULL), WriterError(f"{FULL} (os error 28)"), OSError("9 requested and 4 written")],
)
def test_a_full_disk_is_named_with_what_was_to_be_written(error, tmp_path):
    for whole in (whole_file, whole_folder):
        with pytest.raises(DiskFull) as caught, whole(tmp_path / "out"):
            raise error
        assert caught.value.where == str(tmp_path / "out")
        assert not list(tmp_path.iterdir()), "nothing half-written is left"
    with (
        pytest.raises(DiskFull) as caught,
        whole_folder(tmp_path / "out") as partial,
        whole_file(partial / "items.parquet"),
    ):
        raise error
    assert caught.value.where == str(tmp_path / "out"), "not a temporary place inside it"
    assert not disk_is_full(OSError(13, "Permission denied"))


def test_the_system_says_the_disk_is_full_and_so_do_we(monkeypatch, capsys, benchmarks):
    with suppress(OSError), Path("/dev/full").open("w") as full:  # closing it fails once more
        monkeypatch.setattr(sys, "stdout", full)
        code = called(monkeypatch, "show", benchmarks["bison"].root)
        monkeypatch.undo()
    assert code == 2 and "the disk is full" in capsys.readouterr().err


@pytest.fixture
def classes(benchmarks, tmp_path):
    """A folder with a picture for each of two classes."""
    bench = benchmarks["bison"]
    for name, image in zip(("cat", "dog"), bench.images, strict=False):
        (tmp_path / "classes" / name).mkdir(parents=True)
        (tmp_path / "classes" / name / "0.png").write_bytes(bench.picture(image).read())
    return tmp_path / "classes"


@pytest.mark.filterwarnings("default")
def test_warnings_are_notes_without_a_place_in_the_code(classes, monkeypatch, capsys):
    class Warns(Dual):
        def embed_images(self, pictures):
            warnings.warn("these pictures are small", stacklevel=1)
            return super().embed_images(pictures)

    monkeypatch.setattr("tellapart.models.names.load", lambda name: Warns())
    assert called(monkeypatch, "zeroshot", "chance", "--on", classes) == 0
    said = capsys.readouterr().err
    assert "note: these pictures are small\n" in said and "UserWarning" not in said


def test_only_commands_with_skip_bad_recommend_it(classes, monkeypatch, capsys):
    monkeypatch.setattr("tellapart.models.names.load", lambda name: Dual())
    (classes / "dog" / "1.png").write_bytes(b"nothing that is a picture")
    assert called(monkeypatch, "zeroshot", "chance", "--on", classes) == 2
    said = capsys.readouterr().err
    assert "dog/1.png is broken" in said and "get the file again" in said
    assert "--skip-bad" not in said


def test_going_on_is_announced(benchmarks, tmp_path, caplog):
    class Stops(Dual):
        def embed_texts(self, texts):
            raise KeyboardInterrupt

    out, bench = tmp_path / "runs", benchmarks["bison"]
    with caplog.at_level(logging.INFO, "tellapart"):
        ta.evaluate([Dual()], bench, tmp_path / "whole")
        assert not caplog.messages
        with pytest.raises(KeyboardInterrupt):
            ta.evaluate([Stops()], bench, out)
        with pytest.raises(KeyboardInterrupt):
            ta.evaluate([Stops()], bench, out)
    (said,) = caplog.messages
    assert "resuming an earlier command" in said and "0 of 1 runs are finished" in said
