"""The campaign of MCIC's systems: its commands can be given, and each is given once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from soak.mcic_systems import PARTS, McicCampaign, seed_lines, sources
from soak.seed_means import seed_difference
from tests.models.small_systems import captioned, choices

import tellapart as ta
from tellapart import registry
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.models.zoo.system import system_class
from tellapart.papers.figures import published_table
from tellapart.training.settings import Recipe, TrainingSettings, recipe_of


def settings(words):
    """All settings of a training, as its command asks for them."""
    name = words[1]
    changes = [value for flag, value in pairwise(words) if flag == "--set"]
    task = registry.tasks.get(system_class(name).task)
    defaults = Recipe(system_class(name).Config(), task.Settings(), TrainingSettings())
    recipe = recipe_of(name, words[words.index("--recipe") + 1], defaults, changes).to_json()
    return name, {**recipe["system"], **recipe["task"]}


def test_every_row_that_the_campaign_is_for_is_trained_once():
    campaign = McicCampaign(Path("data"), Path("out"), flickr=True)
    commands = [one for part in PARTS for one in campaign.systems(part, 0)]
    trained = {one.makes: settings(one.words) for one in commands if one.words[0] == "train"}
    wanted = [("mcic-3", {"Vec2seq+FFNN, 2,048"}), ("mcic-5", {"lambda_gen 2", "lambda_gen 8"})]
    for table, left_out in wanted:
        for row in published_table(table).rows:
            fits = [
                folder
                for folder, (name, own) in trained.items()
                if name == row.system
                and not own.get("blind")
                and own["width"] == (64 if name.startswith(("ffnn", "vec")) else 256)
                and row.settings.items() <= own.items()
            ]
            assert len(fits) == (row.who == "system" and row.name not in left_out), row.name
    sizes = {(name, own["width"]) for name, own in trained.values()}
    assert {(name, width) for name in ("ffnn", "vec2seq-ffnn") for width in (64, 256)} <= sizes
    assert any(own.get("blind") for _, own in trained.values())
    built = {one.makes.name for one in campaign.items()}
    assert {"learn-paper", "flickr-paper", "test-paper", "test-fair-sets"} <= built


def test_what_is_learned_from_is_built_and_validated_in_the_same_ways():
    for ways in (("paper",), ("fair-sets",), ("paper", "fair-sets")):
        campaign = McicCampaign(Path("data"), Path("out"), ways=ways)
        built = {one.makes for one in campaign.items()}
        words = next(campaign.systems("table-5", 0)).words
        named = {flag: [Path(b) for a, b in pairwise(words) if a == flag] for flag in words}
        assert named["--on"] == [Path("out") / f"learn-{way}" for way in ways]
        assert named["--validation"] == [Path("out") / f"dev-{way}" for way in ways]
        assert {*named["--on"], *named["--validation"], *named["--never"]} <= built


def test_without_flickr_no_command_needs_its_images():
    out = Path("out")
    small, large = (list(sources(Path("real"), out, flickr=flickr)) for flickr in (False, True))
    named = [word for one in small for word in one.words]
    assert not any("flickr" in word for word in named)
    made = {str(one.makes) for one in small}
    assert {word for word in named if word.startswith("out/")} <= made
    assert next(one for one in large if one.makes.name == "features").words[1] == "out/all"
    campaign = McicCampaign(out, out)
    needed = [word for one in campaign.items() for word in one.words if word.startswith("out/coco")]
    assert set(needed) <= made | {"out/coco-test"}


def test_means_over_seeds_are_those_of_the_runs(tmp_path):
    bench = choices(captioned(tmp_path), options=2)
    card = replace(bench.card, name="test-paper")
    bench = save_benchmark(replace(bench, card=card), tmp_path / "test-paper")
    shares = {}
    for weight, seed in product("04", range(2)):
        name = f"vec2seq-64-{weight}-{seed}"
        runs = ta.evaluate(
            f"chance?seed={seed + int(weight)}", on=bench, out=tmp_path / "runs" / name
        )
        shares[weight, seed] = 100 * ta.outcomes(runs, measures=["accuracy"])["share"].mean()
    lines = seed_lines(tmp_path)
    assert len(lines) == 3
    for weight, line in zip("04", lines, strict=False):
        own = [shares[weight, seed] for seed in range(2)]
        assert line.startswith(f"vec2seq-64-{weight} on test-paper: {sum(own) / 2:.1f} (")
        assert line.endswith(f"by seed {own[0]:.1f}, {own[1]:.1f}; 72 items")
    apart = sum(shares["4", seed] - shares["0", seed] for seed in range(2)) / 2
    assert lines[2].startswith(f"vec2seq-64-4 over vec2seq-64-0 on test-paper: {apart:+.1f} (")


def test_a_difference_of_seeds_is_that_of_their_means_on_the_same_questions():
    def outcomes(*shares):
        items = [f"{k}" for k in range(len(shares))]
        return pl.DataFrame({"item": items, "question": "q", "group": items, "share": shares})

    first = [outcomes(1.0, 1.0, 0.0, 1.0), outcomes(1.0, 0.0, 0.0, 1.0)]
    second = [outcomes(0.0, 1.0, 0.0, 0.5), outcomes(0.0, 1.0, 0.0, 0.5)]
    value, low, high = seed_difference(first, second)  # 0.625 and 0.375
    assert value == pytest.approx(25) and low < value < high
    back = seed_difference(second, first)
    assert back[0] == pytest.approx(-25)
    assert seed_difference(first, first)[0] == 0
