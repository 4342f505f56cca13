"""The command line, as a person uses it: real files, real messages, and processes of its own.

Most commands are run within the tests' own process: alone they would spend their time on importing.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import os
import subprocess
import sys
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from unittest import mock

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import tellapart as ta
from tellapart import registry, verbs
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.cli import main
from tellapart.verbs import ANALYSES, BUILDERS, FOLDERS, STUDY, VERBS, WORK, module_of
from tellapart.verbs.build import find_builder

TELLAPART = str(Path(sys.executable).with_name("tellapart"))


def process(*words: object, **env: str) -> subprocess.CompletedProcess:
    """The program in a process of its own."""
    return subprocess.run(
        [TELLAPART, *map(str, words)], capture_output=True, text=True, check=False,
        env={**os.environ, "COLUMNS": "200", **env}, timeout=120,
    )  # fmt: skip


def tellapart(*words: object, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess:
    """The program within this process, which has imported what most commands take longest over."""
    out, err = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(out),
        redirect_stderr(err),
        chdir(cwd or Path.cwd()),
        mock.patch.object(sys, "argv", ["tellapart", *map(str, words)]),
        mock.patch.dict(os.environ, COLUMNS="200", **env),
        warnings.catch_warnings(),
        pytest.raises(SystemExit) as ended,
    ):
        warnings.simplefilter("default")
        main.main()
    code = ended.value.code
    return subprocess.CompletedProcess(
        words, code if isinstance(code, int) else 0, out.getvalue(), err.getvalue()
    )


def fails(*words: object) -> str:
    done = tellapart(*words)
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A world, a benchmark and two runs, made by commands."""
    folder = tmp_path_factory.mktemp("cli")
    for words in (
        ("world", folder / "world", "--scenes", 30, "--part", "test"),
        ("build", "bison", folder / "world", folder / "bison", "--verifier", "oracle"),
        ("evaluate", "chance", "constant", "--on", folder / "bison", "--out", folder / "runs"),
    ):
        done = tellapart(*words)
        assert done.returncode == 0, done.stderr
    return folder


def test_the_verbs_read_as_a_story(place):
    shown = tellapart("show", place / "bison", "--items", 1)
    items = len(load_benchmark(place / "bison").items)
    assert items >= 30  # a target for each image, and one more for pairs that work both ways
    assert f"{items} items" in shown.stdout and "true of image" in shown.stdout
    assert "good" in tellapart("validate", place / "bison").stdout
    table = process("measure", place / "runs").stdout
    assert "chance" in table and "constant" in table and "95% interval" in table
    half = tellapart("measure", place / "runs", "--ties", "half", "--json")
    rows = {row["model"]: row for row in json.loads(half.stdout)}
    assert rows["constant"]["value"] == 0.5 and rows["constant"]["ties"] == items


GROUPS = {"build": BUILDERS, "study": STUDY, "analyse": ANALYSES, "work": WORK}
EVERY = [(name,) for name in VERBS if name not in GROUPS]
EVERY += [(verb, name) for verb, names in GROUPS.items() for name in names]


def command(words):
    """The command that some words call."""
    found = get_command(main.app)
    for word in words:
        found = found.get_command(None, word)
    return found


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_verb_has_help_with_an_example_and_json(words):
    text = CliRunner().invoke(main.app, [*words, "--help"]).stdout
    assert f"Example: tellapart {' '.join(words)}" in text and "--json" in text


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_table_of_verbs_says_what_they_say_of_themselves(words):
    """`tellapart --help` prints the table, so that no verb is imported for it."""
    table = GROUPS.get(words[0], VERBS) if len(words) > 1 else VERBS
    about = command(words).help.split("\n\n")[0]
    assert " ".join(about.split()) == table[words[-1]]


def test_no_verb_is_left_out_of_the_table():
    folder = Path(verbs.__file__).parent
    beside = {path.stem.rstrip("_") for path in folder.glob("*.py")} - {"__init"}
    assert beside == set(VERBS) - {"build", "study", "work"} - {
        v for some in FOLDERS.values() for v in some
    }
    for name, inside in FOLDERS.items():
        files = {path.stem.rstrip("_") for path in (folder / name).glob("*.py")} - {"__init"}
        assert files == set(inside)
    assert set(ANALYSES) == set(registry.analyses.names())
    built = {find_builder(name).function.__module__.rpartition(".")[2] for name in BUILDERS}
    assert {path.stem for path in folder.glob("build/*.py")} - {"__init__"} == built
    assert {path.stem for path in folder.glob("study/*.py")} - {"__init__"} == set(STUDY)
    assert {path.stem for path in folder.glob("work/*.py")} - {"__init__"} == set(WORK)
    assert set(BUILDERS) == set(registry.builders.names())


def test_every_verb_is_a_function_of_the_package():
    modules = [module_of(name) for name in VERBS if name not in GROUPS]
    modules += [f"tellapart.verbs.study.{name}" for name in STUDY]
    modules += [f"tellapart.verbs.work.{name}" for name in WORK]
    for module in modules:
        function = import_module(module).VERB.function
        assert function.__name__ in ta.__all__
        assert inspect.unwrap(getattr(ta, function.__name__)) is function
    for name in BUILDERS:
        assert registry.builders.describe(name) == BUILDERS[name]
    for name in ANALYSES:
        assert registry.analyses.describe(name) == ANALYSES[name]
    assert {"build", "analyse"} <= set(ta.__all__)


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_the_options_of_every_verb_are_a_class_of_the_package(words):
    """What can be said on the command line can be said in Python with `ta` alone."""
    if words[0] == "analyse":
        function = registry.analyses.get(words[1]).function
    elif words[0] == "build":
        function = find_builder(words[1]).function
    else:
        path = ("tellapart.verbs", *words) if len(words) > 1 else (module_of(words[0]),)
        function = import_module(".".join(path)).VERB.function
    known = inspect.signature(function).parameters
    if "options" in known:
        own = type(known["options"].default)
        assert getattr(ta, own.__name__) is own and own.__name__ in ta.__all__


def test_the_exports_are_what_type_checkers_see():
    """The static list, the imports for type checkers and the table of modules are one."""
    tree = ast.parse(Path(ta.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(ta.__all__) == sorted([*seen, "__version__"]) == ta.__all__
    for name, (module, own) in seen.items():
        exported = getattr(ta, name)
        unwrapped = inspect.unwrap(exported) if callable(exported) else exported
        assert unwrapped is getattr(import_module(module), own)


def test_every_registry_is_listed():
    for one in registry.REGISTRIES:
        found = json.loads(tellapart("list", one.plural, "--json").stdout)
        assert found and set(found) == set(one.names()) and all(found.values()), one.noun
        assert one.plural in " ".join(tellapart("list", "--help").stdout.split())
    groups = {group for group in entry_points().groups if group.startswith("tellapart.")}
    assert groups == {one.group for one in registry.REGISTRIES}


def test_a_builder_of_a_plugin_is_a_command_too(tmp_path, place):
    """`upside-down` is no built-in builder; it gets the shared options."""
    made = tmp_path / "upside_down-1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: upside-down\nVersion: 1.0\n")
    (made / "entry_points.txt").write_text(
        "[tellapart.builders]\nupside-down = tellapart.verbs.build.bison:VERB\n"
    )
    words = ("build", "upside-down", place / "world", tmp_path / "out", "--items", "5")
    done = process(*words, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "bison: 5 items" in done.stdout


def test_help_and_listings_import_nothing_heavy():
    heavy = {"torch", "polars", "scipy", "numpy", "numba", "onnxruntime", "vl_convert", "PIL"}
    verbs = ("build", "study", "list", "get", "audit", "captions", "report", "retrieve")
    for words in (["--help"], *([verb, "--help"] for verb in verbs)):
        code = (
            "import sys, tellapart.cli.main as m\n"
            f"try: m.app({words!r}, standalone_mode=False)\n"
            "except SystemExit: pass\n"
            "print(*(name for name in sys.modules if '.' not in name))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        imported = set(done.stdout.splitlines()[-1].split())
        assert "typer" in imported and not heavy & imported, (words, heavy & imported)
    for what in ("models", "measures", "builders", "importers", "readers", "benchmarks"):
        assert tellapart("list", what).returncode == 0


def test_listing_explains_every_model():
    found = json.loads(tellapart("list", "models", "--json").stdout)
    assert {"oracle", "chance", "constant", "blind"} <= set(found)
    assert all(found.values())


def test_json_errors_have_parts(place):
    done = tellapart("evaluate", "oracel", "--on", place / "bison", "--out", place / "x", "--json")
    error = json.loads(done.stdout)["error"]
    assert "oracel" in error["what"] and "did you mean oracle" in error["todo"]


def test_an_unknown_model_suggests_near_names(place):
    said = fails("evaluate", "oracel", "--on", place / "bison", "--out", place / "x")
    assert "there is no model called 'oracel'" in said and "did you mean oracle?" in said


def test_an_unknown_command_suggests_near_names():
    said = fails("measur", "runs")
    assert "there is no command called 'measur'" in said and "did you mean measure?" in said
    said = fails("study", "serv", "my-study")
    assert "did you mean serve?" in said and "study --help" in said


def test_an_unknown_benchmark_suggests_near_names(place):
    said = fails("evaluate", "chance", "--on", place / "bizon", "--out", place / "x")
    assert "there is no benchmark called" in said and "did you mean" in said and "bison" in said


def test_unknown_builders_lists_measures_and_rules_are_named(place):
    assert "there is no builder called 'bisson'" in fails(
        "build", "bisson", place / "world", place / "q"
    )
    assert "there is no list called 'model'" in fails("list", "model")
    assert "no measure called 'Grupp'" in fails("measure", place / "runs", "--measure", "Grupp")
    assert "no rule for ties called 'maybe'" in fails("measure", place / "runs", "--ties", "maybe")


def test_a_missing_corpus_column_or_caption_is_named(tmp_path):
    table = tmp_path / "pictures.csv"
    table.write_text("image,text\na.jpg,A dog.\n")
    said = fails("build", "bison", table, tmp_path / "out")
    assert "no column called 'caption'" in said and "image, text" in said and "pictures.csv" in said
    table.write_text("image,caption\na.jpg,A dog.\nb.jpg,\n")
    said = fails("build", "bison", table, tmp_path / "out")
    assert "caption" in said and ("empty" in said or "missing" in said) and "--skip-bad" in said
    assert not (tmp_path / "out").exists()


def test_skip_bad_carries_on_and_lists_what_was_skipped(tmp_path):
    table = tmp_path / "pictures.csv"
    rows = "".join(f"{k}.jpg,A {w} on the grass.\n" for k, w in enumerate(["dog", "cat", "cow"]))
    table.write_text("image,caption\n" + rows + "d.jpg,\n")
    done = tellapart("build", "bison", table, tmp_path / "out", "--skip-bad", "--no-look")
    assert done.returncode == 0, done.stderr
    assert "skipped: caption" in done.stderr
    assert "3 images" in done.stdout


def test_a_missing_picture_is_named(place, tmp_path):
    table = tmp_path / "pictures.csv"
    table.write_text("image,caption\na.jpg,A red dog.\nb.jpg,A blue cat.\n")
    said = fails("build", "bison", table, tmp_path / "bison")
    assert "none of the 2 pictures of pictures was found" in said and "--no-look" in said
    assert tellapart("build", "bison", table, tmp_path / "bison", "--no-look").returncode == 0
    said = fails("evaluate", "oracle", "--on", tmp_path / "bison", "--out", tmp_path / "runs")
    assert "is missing" in said and ".jpg" in said and "to do:" in said
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").rglob("run.json"))


def test_a_path_without_runs_says_how_to_make_one(tmp_path):
    said = fails("measure", tmp_path)
    assert f"{tmp_path} has no run" in said and "tellapart evaluate" in said
    assert f"{tmp_path / 'gone'} does not exist" in fails("measure", tmp_path / "gone")


def test_a_folder_in_the_way_is_left_alone(place):
    said = fails("world", place / "world", "--scenes", 3)
    assert "already exists" in said and "--overwrite" in said


def test_home_makes_benchmarks_known_by_name(place):
    listed = tellapart("list", "benchmarks", TELLAPART_HOME=str(place))
    assert "bison" in listed.stdout
    shown = tellapart("show", "bison", TELLAPART_HOME=str(place), cwd=place / "world")
    assert shown.returncode == 0


@pytest.mark.parametrize(
    ("typed", "offered"),
    [("me", {"merge", "measure"}), ("build bi", {"bison", "bivlc"}), ("measure --t", {"--ties"})],
)
def test_the_shell_completes_verbs_builders_and_flags(typed, offered):
    words = f"tellapart {typed}"
    place = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    asked = {"_TELLAPART_COMPLETE": "complete_bash", **place}
    found = CliRunner().invoke(main.app, [], env=asked, prog_name="tellapart")
    assert set(found.stdout.split()) == offered
