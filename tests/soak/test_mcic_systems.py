"""The campaign of MCIC's systems: its commands can be given, and each is given once."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

from soak.mcic_systems import PARTS, McicCampaign

from tellapart import registry
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
                and own["width"] == 256
                and row.settings.items() <= own.items()
            ]
            assert len(fits) == (row.who == "system" and row.name not in left_out), row.name
    sizes = {(name, own["width"]) for name, own in trained.values()}
    assert {(name, width) for name in ("ffnn", "vec2seq-ffnn") for width in (64, 256)} <= sizes
    assert any(own.get("blind") for _, own in trained.values())
    built = {one.makes.name for one in campaign.items()}
    assert {"learn-paper", "flickr-paper", "test-paper", "test-fair-sets"} <= built
