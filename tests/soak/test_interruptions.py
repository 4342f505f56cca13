"""The campaign of interrupted commands, small: one of them, and what it must notice."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from soak.interruptions import JOBS, Interrupted, refusal


def test_a_killed_command_and_one_without_its_input_end_in_the_same_bytes(world, tmp_path):
    shutil.copytree(world.root, tmp_path / "inputs" / "world")
    place = tmp_path / "place"
    place.mkdir()
    one = Interrupted.of(JOBS["features"], tmp_path / "inputs", place)
    assert set(one.whole) == {
        f"out/{name}" for name in ("features.json", "index.parquet", "regions.f16", "whole.f16")
    }
    assert one.kills(1, seed=0) == "" and one.without() == ""
    one.whole["out/whole.f16"] += b"more"
    assert one.compared(place / "killed") == "other bytes: out/whole.f16"


@pytest.mark.parametrize(
    ("code", "stderr", "wrong"),
    [(1, "the disk is full", ""), (0, "", "it ended well, though it could not"),
     (1, "Traceback: the disk", "Traceback: the disk"), (1, "no", "it does not name disk: no")],
)  # fmt: skip
def test_a_command_must_say_why_it_cannot_go_on(code, stderr, wrong):
    done = subprocess.CompletedProcess([], code, "", stderr)
    assert refusal(done, "disk") == wrong
