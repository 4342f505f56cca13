"""docs/extending.md: what it shows is installed as a package would be, and used by the verbs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from typer.testing import CliRunner

import tellapart as ta
from tellapart import registry
from tellapart.benchmark.benchmark import Benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.items import Item, Origin
from tellapart.score.run import save_run
from tests.conftest import benchmark_of, grid_item, run_of
from tests.plugins import documented_plugins

pytestmark = pytest.mark.usefixtures("plugins")
PLUGINS = documented_plugins("extending.md")


def tellapart(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize("plugin", PLUGINS, ids=lambda plugin: plugin.name)
def test_each_example_is_a_short_file_that_is_listed_once_it_is_installed(plugin):
    assert len(plugin.code.splitlines()) < 40
    (group,) = (one for one in registry.REGISTRIES if one.group == plugin.group)
    found = json.loads(tellapart("list", f"{group.noun}s", "--json"))
    assert found[plugin.name] and plugin.target.startswith("my_package.")


def test_there_is_an_example_of_everything_that_people_add():
    groups = [plugin.group.removeprefix("tellapart.") for plugin in PLUGINS]
    assert set(groups) == {"models", "measures", "importers", "builders", "questions"}
    own = [registry.measures.get(one.name).is_mean for one in PLUGINS if "measures" in one.group]
    assert sorted(own) == [False, True], "one measure is a mean, the other is not"


def coloured(folder: Path) -> Benchmark:
    """Two pictures with two captions each, of which the model should get the first right."""
    captions = {"red": ("a red wall", "a blue wall"), "blue": ("a wall", "a green wall")}
    for name in captions:
        Pillow.new("RGB", (4, 4), name).save(folder / f"{name}.png")
    rows = "".join(f"{name}.png,{a},{b}\n" for name, (a, b) in captions.items())
    (folder / "pairs.csv").write_text("image,caption,negative_caption\n" + rows)
    tellapart("get", "pairs", folder / "bench", "--from", folder / "pairs.csv")
    return ta.load_benchmark(folder / "bench")


def test_the_model_scores_a_caption_by_the_colours_that_it_names(tmp_path):
    bench = coloured(tmp_path)
    tellapart("evaluate", "colours?near=30", "--on", bench.root, "--out", tmp_path / "runs")
    run = ta.load_run(next((tmp_path / "runs").glob("*/*")))
    assert run.model == "colours?near=30.0"
    texts = {(i.id, j): text for i in bench.items for j, text in enumerate(i.captions)}
    scores = run.scores.select("item", "caption", "score").iter_rows()
    assert {texts[item, caption]: score for item, caption, score in scores} == {
        "a red wall": 1.0, "a blue wall": 0.0, "a wall": 0.0, "a green wall": 0.0,
    }  # fmt: skip
    (found,) = ta.measure(run, ties="half", by_kind=False).rows
    assert found.value == 0.75


def test_the_measure_of_places_counts_first_options_and_halves_ties(tmp_path):
    bench = benchmark_of([grid_item(name, 1, 2, {(0, 1)}) for name in "abcd"])
    save_benchmark(bench, tmp_path / "bench")
    scores = {"a": [[2, 1]], "b": [[2, 1]], "c": [[1, 2]], "d": [[1, 1]]}
    save_run(run_of(bench, scores), tmp_path / "run")
    words = ("measure", tmp_path / "run", "--on", tmp_path / "bench", "--measure", "first-place")
    by_rule = {}
    for rule in ("wrong", "half"):
        (row,) = json.loads(tellapart(*words, "--ties", rule, "--no-guessable", "--json"))
        by_rule[rule] = row["value"], row["chance"], row["ties"]
    assert by_rule == {"wrong": (0.5, 0.5, 1), "half": (0.625, 0.5, 1)}


def likelihoods(bench: Benchmark, name: str, right: dict[str, float]) -> ta.Run:
    """A run whose softmax gives the right caption (the first) a given probability."""
    run = run_of(bench, {k: [[float(np.log(p / (1 - p))), 0.0]] for k, p in right.items()})
    return replace(run, card=replace(run.card, model=name))


def test_the_measure_that_is_not_a_mean_is_measured_by_kind_and_compared():
    """The macro average, its interval and comparisons reduce as the measure does."""
    kinds = {"a": "x", "b": "x", "c": "y", "d": "y"}
    bench = benchmark_of([grid_item(k, 1, 2, {(0, 0)}, kind=kind) for k, kind in kinds.items()])
    good = likelihoods(bench, "good", {"a": 0.9, "b": 0.4, "c": 0.8, "d": 0.2})
    bad = likelihoods(bench, "bad", {"a": 0.5, "b": 0.1, "c": 0.8, "d": 0.05})
    by_kind = {
        one.kind: one for one in ta.measure(good, measures=["likelihood"], by_kind=True).rows
    }
    x, y = (0.9 * 0.4) ** 0.5, (0.8 * 0.2) ** 0.5
    assert by_kind["micro"].value == pytest.approx((x * y) ** 0.5)
    assert [by_kind[k].value for k in ("x", "y")] == pytest.approx([x, y])
    assert by_kind["macro"].value == pytest.approx((x + y) / 2)
    assert all(0 <= one.low < one.value < one.high <= 1 for one in by_kind.values())
    assert [one.chance for one in by_kind.values()] == pytest.approx([0.5] * 4)
    (pair,) = ta.compare([good, bad], measures=["likelihood"]).pairs
    other = (0.5 * 0.1 * 0.8 * 0.05) ** 0.25
    assert (pair.first_value, pair.second_value) == pytest.approx(((x * y) ** 0.5, other))
    assert pair.difference == pytest.approx((x * y) ** 0.5 - other)
    assert pair.low < pair.difference < pair.high and pair.differing == 3
    assert pair.p == pytest.approx(2 / 2**3), "of all exchanges only none and all reach it"
    assert pair.by_kind["y"] == pytest.approx(y - (0.8 * 0.05) ** 0.5)


def test_a_missing_score_makes_the_likelihood_zero():
    bench = benchmark_of([grid_item(name, 1, 2, {(0, 0)}) for name in "ab"])
    run = likelihoods(bench, "m", {"a": 0.9, "b": 0.9})
    lacking = replace(run, scores=run.scores.head(3))
    (found,) = ta.measure(lacking, measures=["likelihood"], by_kind=False).rows
    assert (found.value, found.failed) == (0.0, 1)


def test_the_builder_is_a_command_with_its_own_flag(world, tmp_path):
    text = tellapart("build", "easy", "--help")
    assert "--decoys" in text and "Captions of other images in each item." in text
    tellapart("build", "easy", world.root, tmp_path / "out", "--decoys", 2, "--items", 20)
    bench = ta.load_benchmark(tmp_path / "out")
    assert len(bench.items) == 20 and bench.card.made["decoys"] == 2
    places = set()
    for item in bench.items:
        ((_, place),) = item.true
        own = set(world.texts_by_image[item.images[0]])
        assert [k for k, text in enumerate(item.captions) if text in own] == [place]
        assert len(item.captions) == 3
        places.add(place)
    assert places == {0, 1, 2}, "the truth has no place of its own"
    (run,) = ta.evaluate("oracle", on=bench, out=tmp_path / "runs")
    (found,) = ta.measure(run, by_kind=False).rows
    assert found.value > 0.9


def test_the_builder_takes_its_options_in_python(world, tmp_path):
    from my_package.easy import EasyOptions

    options = EasyOptions(decoys=1, items=5, seed=2)
    bench = ta.build("easy", world, tmp_path / "out", options)
    assert {len(item.captions) for item in bench.items} == {2}


def test_the_importer_is_read_by_get(tmp_path):
    rows = [{"id": 7, "photo": "a.png", "says": "A dog runs.", "denies": "No dog runs."}]
    (tmp_path / "denials.json").write_text(json.dumps(rows))
    tellapart("get", "denials", tmp_path / "out", "--from", tmp_path / "denials.json")
    (item,) = ta.load_benchmark(tmp_path / "out").items
    ((_, right),) = item.true
    assert item.captions[right] == "A dog runs."


def test_the_question_is_asked_by_a_study(tmp_path):
    """That it is served, answered and exported is in tests/study/test_plugin.py."""
    pytest.importorskip("sqlalchemy")
    item = Item.imported(
        "test", "a", images=("a",), captions=("A dog.", "A cat."), true=frozenset({(0, 0)}),
        kind="x", origin=Origin("test"),
    )  # fmt: skip
    save_benchmark(benchmark_of([item]), tmp_path / "bench")
    said = tellapart("study", "create", tmp_path / "bench", tmp_path / "s", "--ask", "made-up")
    assert "made-up" in said
    assert 'ask = "made-up"' in (tmp_path / "s" / "study.toml").read_text()
