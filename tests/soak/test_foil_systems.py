"""The campaign of FOIL's systems: what it would run, and that no test is trained on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")

from soak.foil_systems import BUILDS, CLASSIFIERS, Places, commands, seed_lines
from tests.models.small_systems import captioned, foils

import tellapart as ta
from tellapart.benchmark.benchmark import save_benchmark

AT = Places(Path("data"), Path("bison"), Path("out"))


def test_every_system_is_trained_before_it_is_tested_and_never_on_its_test():
    made: set[str] = set()
    trained = {}
    for command in commands(AT, BUILDS, seeds=1):
        words = command.words
        for word in words[1:]:
            if word.startswith("trained:"):
                assert word.removeprefix("trained:") in made, f"{word} is used before it is there"
        if words[0] == "train":
            never = [words[k + 1] for k, word in enumerate(words) if word == "--never"]
            trained[command.makes.name] = never
            assert set(never) <= made
        made.add(str(command.makes))
    for name in CLASSIFIERS:
        for way in ("paper", "fair"):
            assert trained[f"{way}-{name}-0"] == [f"out/{way}-test"]
    assert trained["ic-wang-0"] == [f"out/{way}-test" for way in BUILDS]
    assert command.words[:2] == ("table", "foil") and command.printed


def test_the_first_seed_of_every_build_is_done_before_the_second_of_any():
    made = [one.makes.name for one in commands(AT, BUILDS, seeds=2) if one.words[0] == "train"]
    seeds = [int(name[-1]) for name in made]
    assert seeds == sorted(seeds) and len(made) == len(set(made))
    assert made.count("ic-wang-0") == 1 and "ic-wang-1" not in made


def test_seed_lines_are_means_over_the_runs_and_stand_beside_blind(tmp_path):
    at = Places(tmp_path, tmp_path, tmp_path)
    bench = save_benchmark(foils(captioned(tmp_path)), tmp_path / "paper-test")
    shares: dict[str, list[list[float]]] = {}
    for name, number in (("blind-lstm", 0), ("cnn-lstm", 2)):
        for seed in range(2):
            folder = tmp_path / "runs" / "paper" / f"paper-{name}-{seed}"
            runs = ta.evaluate(f"chance?seed={number + seed}", on=bench, out=folder)
            own = ("T1", "T1-correct", "T1-foil")
            values = {row.measure: 100 * row.value for row in ta.measure(runs, measures=own).rows}
            shares.setdefault(name, []).append([values[side] for side in own])
    blind, seeing = seed_lines(at, ("paper",))
    means = {name: np.mean(own, axis=0) for name, own in shares.items()}
    for name, line in (("blind-lstm", blind), ("cnn-lstm", seeing)):
        assert line.startswith(f"paper, {name}, 2 trainings: T1 {means[name][0]:.1f} (")
        assert f"T1-correct {means[name][1]:.1f} (" in line
        assert f"T1-foil {means[name][2]:.1f} (" in line
    apart = means["cnn-lstm"][0] - means["blind-lstm"][0]
    assert "over Blind" not in blind and f"over Blind {apart:+.1f} (" in seeing
