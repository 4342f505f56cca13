"""What a build says of itself at its end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.mine.verdict import nearness, verdict
from tellapart.text.tfidf import tfidf


def test_a_build_ends_with_a_verdict(world, tmp_path):
    words = ["build", "foil", str(world.root), str(tmp_path / "foil"), "--verifier", "oracle"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "decoys are near: cosine" in done.output and "of two random images" in done.output
    assert "guessable: not measured yet; see: tellapart audit" in done.output
    assert "verified: by the model oracle" in done.output


def test_pairs_for_a_study_are_not_called_a_test_and_lead_to_the_study(world, tmp_path):
    pairs = tmp_path / "pairs"
    done = CliRunner().invoke(app, ["build", "bison", str(world.root), str(pairs), "--for-study"])
    assert done.exit_code == 0, done.output
    assert "not a test yet" in done.output and "guessable" not in done.output
    assert f"tellapart study create {pairs} STUDY --as bison" in " ".join(done.output.split())


def test_nearness_is_that_of_the_captions(benchmarks, world):
    items = list(benchmarks["foil"].items)
    found = nearness(world, items, 0)
    right = [i.captions[min(i.true)[1]] for i in items]
    wrong = [i.captions[1 - min(i.true)[1]] for i in items]
    vectors = tfidf([*right, *wrong])  # weights are of fewer texts here
    own = np.asarray(vectors[: len(items)].multiply(vectors[len(items) :]).sum(axis=1)).mean()
    assert found["decoys"] == pytest.approx(own, abs=0.1)
    assert found["random"] < found["same_image"] < found["decoys"]
    images = nearness(world, list(benchmarks["bison"].items), 0)
    assert images["random"] < images["decoys"] < images["same_image"]


def with_made(benchmark, **facts):
    made = {**benchmark.card.made, **facts}
    return replace(benchmark, card=replace(benchmark.card, made=made, verified=""))


def lines(benchmark, **facts) -> str:
    return "\n".join(verdict(with_made(benchmark, **facts)))


def test_what_is_far_or_guessable_or_missing_comes_with_what_to_do(benchmarks, tmp_path):
    bench = benchmarks["mcic"]
    far = {"decoys": 0.12, "same_image": 0.5, "random": 0.1}
    assert "decoys are far" in lines(bench, nearness=far)
    assert "more photographs" in lines(bench, nearness=far)
    alone = {"low": 30, "high": 40, "chance": 20, "value": 35, "attacker": "a", "source": "b"}
    guessed = lines(bench, text_alone=alone)
    assert "guessable from the text alone: 35.0% (30.0 - 40.0, chance 20.0%) by a" in guessed
    assert "--options fair-sets" in guessed
    assert "--unfiltered" in lines(bench, text_alone=alone, by="tellapart build negatives"), (
        "each builder has its own remedy"
    )
    fair = lines(bench, text_alone={**alone, "low": 19})
    assert "not guessable" in fair and "--options" not in fair
    assert "each is true as often as the others" in lines(bench), "fair sets"
    part = replace(bench, items=bench.items.where(pl.Series(range(len(bench.items))) > 0))
    assert "not measured yet" in lines(part), "one of its sets has lost a turn"
    assert "hardly guessable" in lines(part, text_alone={**alone, "low": 19})
    said = lines(benchmarks["bison"])
    assert "not guessable from the text alone: all images" in said and "not measured" not in said
    assert "verified: by nobody" in fair and "study create" in fair
    moved = replace(bench, root=tmp_path)
    assert f"{len(bench.images)} of {len(bench.images)} are missing" in lines(moved)


def test_the_study_that_a_verdict_names_can_be_made(benchmarks, tmp_path):
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    for number, bench in enumerate(benchmarks.values()):
        said = lines(bench)
        words = said[said.index("tellapart study create") :].split()[1:]
        words[words.index("STUDY")] = str(tmp_path / f"study{number}")
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output)


def test_plain_captions_have_a_verdict_too(tmp_path):
    rows = [(f"{a}.jpg", f"A {a} on the grass.") for a in ("dog", "cat", "horse", "sheep", "bird")]
    path = tmp_path / "captions.csv"
    path.write_text("image,caption\n" + "".join(f"{i},{c}\n" for i, c in rows))
    made = ta.build("mcic", path, tmp_path / "mcic", ta.BuildOptions(look=False))
    assert made.card.made["nearness"]["same_image"] is None, "one caption an image"
    assert any(line.startswith("decoys: cosine") for line in verdict(made))
