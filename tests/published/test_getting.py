"""The verb on the command line."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.errors import TellapartError


@pytest.fixture
def run():
    def invoke(*args):
        return CliRunner().invoke(app, [str(arg) for arg in args])

    return invoke


def crepe(desk, name: str):
    row = {"filename": "000000000139.jpg", "caption": "A dog.", "negative_caption": "A cat."}
    return desk.write(name, {"0": row})


def test_several_files_after_one_from(run, desk):
    files = [crepe(desk, "add_att.json"), crepe(desk, "swap_obj.json")]
    out = desk.folder / "out"
    result = run("get", "sugarcrepe", out, "--from", *files, "--seed", 3, "--json")
    assert result.exit_code == 0, result.output
    card = json.loads(result.stdout)
    assert card["counts"]["items"] == 2 and card["made"]["options"]["seed"] == 3
    assert "1 items duplicate an earlier one: kept and flagged" in result.stderr
    assert "1 of 1 pictures were not found: give their folder with --images DIR" in result.stderr


def test_pictures_that_are_not_in_the_folder_named_are_counted(run, desk):
    pictures = desk.picture("pictures/a.png").parent
    file = desk.write("p.csv", "image,caption,negative_caption\na.png,Dog.,Cat.\nb.png,Dog.,Cow.\n")
    result = run("get", "pairs", desk.folder / "out", "--from", file, "--images", pictures)
    assert "1 of 2 pictures were not found; 1 of 2 items have all of theirs" in result.stderr


def test_files_that_do_not_exist_are_said_not_to_exist(run, desk):
    result = run("get", "sugarcrepe", desk.folder / "out", "--from", desk.folder / "gone")
    assert isinstance(result.exception, TellapartError)
    assert str(result.exception).startswith(f"there is no file or folder {desk.folder / 'gone'}")


def test_columns_are_named(run, desk):
    file = desk.write("p.csv", "photo,caption,foil\na.png,A dog.,A cat.\n")
    out = desk.folder / "out"
    named = ("--column", "image=photo", "--column", "negative_caption=foil")
    result = run("get", "pairs", out, "--from", file, *named)
    assert result.exit_code == 0 and "1 items, 1 images" in result.stdout


@pytest.mark.parametrize(
    ("column", "message"), [("image", "does not say which"), ("picture=x", "no column called")]
)
def test_columns_that_are_not_there(run, desk, column, message):
    file = desk.write("p.csv", "a\n1\n")
    result = run("get", "pairs", desk.folder / "out", "--from", file, "--column", column)
    assert isinstance(result.exception, TellapartError) and message in str(result.exception)


def test_help_shows_an_example(run):
    assert "Example: tellapart get" in run("get", "--help").output
