"""Detectors: both rules by hand, chance levels, and a look that is found or is not there."""

from __future__ import annotations

import numpy as np
import pytest

import tellapart as ta
from tellapart.audits.detectors import CHANCES, Detections, fit_head, probability, read_detections
from tellapart.audits.options import AuditOptions
from tellapart.errors import BadInput
from tellapart.verbs.build.bivlc import BivlcOptions


def test_both_rules_by_hand():
    # found and told rightly; images found, texts in order but not detected; the same the wrong way
    # round; all of it the wrong way round; nothing to tell
    found = Detections(
        original_image=np.array([0.1, 0.1, 0.9, 0.9, 0.5]),
        edited_image=np.array([0.9, 0.9, 0.1, 0.1, 0.5]),
        original_text=np.array([0.2, 0.6, 0.6, 0.8, 0.5]),
        edited_text=np.array([0.8, 0.7, 0.7, 0.2, 0.5]),
    ).right()
    assert found["I2T"].tolist() == [1, 1, 0, 0, 0]
    assert found["T2I"].tolist() == [1, 0, 0, 0, 0]
    assert found["Group"].tolist() == [1, 0, 0, 0, 0]
    assert found["matched"].tolist() == [1, 1, 0, 1, 0.5]
    assert found["image"].tolist() == [1, 1, 0, 0, 0.5]


def test_coins_are_at_the_chance_levels():
    rng = np.random.default_rng(0)
    right = Detections(*rng.random((4, 40_000))).right()
    for name, chance in CHANCES.items():
        assert right[name].mean() == pytest.approx(chance, abs=0.01), name


def test_a_head_finds_a_column_and_nothing_in_noise():
    rng = np.random.default_rng(1)
    rows, label = rng.normal(size=(400, 20)), np.repeat([0.0, 1.0], 200)
    rows[:, 3] += 3 * label
    weights = fit_head(rows[::2], label[::2])
    assert ((probability(rows[1::2], weights) > 0.5) == label[1::2]).mean() > 0.9
    assert np.argmax(np.abs(weights[:-1])) == 3


def test_rows_that_do_not_pair_up_are_refused(tmp_path):
    file = tmp_path / "outputs.csv"
    file.write_text("text_pred,img_pred,label\n0.1,0.2,0\n0.2,0.1,0\n0.9,0.9,1\n")
    with pytest.raises(BadInput, match="does not pair"):
        read_detections(file)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return ta.world(tmp_path_factory.mktemp("detectors") / "world", scenes=90)


@pytest.mark.parametrize(("look", "seen"), [("storybook", False), ("synthetic", True)])
def test_a_synthetic_look_is_found_and_its_absence_too(world, tmp_path, look, seen):
    options = BivlcOptions(maker=f"world:?look={look}", candidates=1, auto="oracle", margin=0.5)
    bench = ta.build("bivlc", world, tmp_path / look, options)
    found = ta.audit(bench, options=AuditOptions(resamples=200, ngrams=False))
    report = found.detectors
    image = report.row("image")
    assert image.low > 0.9 if seen else image.low < 0.55
    if seen:
        assert report.row("I2T").low > CHANCES["I2T"]
        assert any(
            "guessable by two detectors that never compare" in line for line in found.verdict
        )
    else:
        assert report.row("matched").low <= 0.5 <= report.row("matched").high
        assert any("at chance by both rules" in line for line in found.verdict)
