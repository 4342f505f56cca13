"""Cues from pictures alone, planted into small drawn files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from tests.audits.conftest import bench, pairs

from tellapart import seeds
from tellapart.audits.options import AuditOptions
from tellapart.items import Item, Origin
from tellapart.verbs.benchmarks.audit import audit

OPTIONS = AuditOptions(ngrams=False, resamples=50)
GRID = ("Group", "I2T", "T2I", "Tpos2I", "Tneg2I")


def draw(path: Path, *key: object, noise: float = 1.0, light: int = 0) -> None:
    """Noise, or with `noise` near 0 something smooth that packs well."""
    rng = seeds.rng(0, *key)
    pixels = 100 + light + noise * rng.integers(-60, 60, size=(24, 24, 3))
    Pillow.fromarray(pixels.astype(np.uint8)).save(path)


def squares(folder: Path, *, told: bool, number: int = 20) -> list[Item]:
    """2 x 2 items; `told` makes edited images smooth and edited captions end with a stop."""
    made = []
    for k in range(number):
        first = k % 2
        names = [f"{k}-0", f"{k}-1"]
        for place, name in enumerate(names):
            edited = place != first
            draw(folder / f"{name}.png", name, noise=0.05 if told and edited else 1.0)
        texts = ["a red cat", "a sad cat." if told else "a sad cat"]
        order = (k // 2) % 2
        captions = tuple(texts if order == 0 else texts[::-1])
        true = {(first, order), (1 - first, 1 - order)}
        made.append(
            Item.imported(
                "test",
                str(k),
                images=tuple(names),
                captions=captions,
                true=frozenset(true),
                kind="replace-object",
                origin=Origin("test"),
                original=(first, order),
            )
        )
    return made


DETECTOR = "original or edited, by image and by text detector"


def test_pitfall_22_synthetic_is_recognised_instead_of_content(tmp_path):
    items = squares(tmp_path, told=True)
    found = audit(bench(items, tmp_path, GRID), options=OPTIONS)
    for measure in ("I2T", "T2I", "Group"):
        assert found.guess(DETECTOR, measure).estimate.value == 1.0
    assert found.guess("the larger file", "Tpos2I").estimate.value == 1.0
    assert found.guess("the larger file", "Tneg2I").estimate.value == 0.0


def test_pitfall_22_images_of_one_make_are_not_told_apart(tmp_path):
    items = squares(tmp_path, told=False, number=40)
    found = audit(bench(items, tmp_path, GRID), options=OPTIONS)
    assert found.guess(DETECTOR, "Group").estimate.value < 0.4
    assert found.guess("fewer pixels", "Tpos2I").estimate.value == 0.5


def choices(folder: Path, *, lighter: int, number: int = 16) -> list[Item]:
    """One caption, two images; the right one is lighter by so much."""
    made = []
    for k in range(number):
        right = k % 2
        for place in (0, 1):
            draw(folder / f"{k}-{place}.png", k, place, light=lighter if place == right else 0)
        made.append(
            Item.imported(
                "test",
                str(k),
                images=(f"{k}-0", f"{k}-1"),
                captions=("a cat",),
                true=frozenset({(right, 0)}),
                kind="bison",
                origin=Origin("test"),
            )
        )
    return made


@pytest.mark.parametrize(("lighter", "value"), [(50, 1.0), (-50, 0.0)])
def test_brightness_is_found(tmp_path, lighter, value):
    found = audit(bench(choices(tmp_path, lighter=lighter), tmp_path), options=OPTIONS)
    assert found.guess("the brighter image").estimate.value == value
    together = "all image statistics together (logistic regression)"
    assert found.guess(together).estimate.value == 1.0
    assert found.guess("the image at place 0").estimate.value == 0.5
    assert not [g for g in found.guesses if g.sees == "caption"], "one caption cannot be chosen"


def test_missing_pictures_are_a_remark_and_no_error(tmp_path):
    items = choices(tmp_path, lighter=50)
    found = audit(bench(items, tmp_path / "elsewhere"), options=OPTIONS)
    assert any("pictures not found (16 of 16" in remark for remark in found.remarks)
    assert not [g for g in found.guesses if g.sees == "image"]


def test_items_with_a_missing_or_broken_picture_are_left_out(tmp_path):
    items = choices(tmp_path, lighter=50)
    (tmp_path / "0-0.png").unlink()
    (tmp_path / "1-0.png").write_bytes(b"no picture")
    found = audit(bench(items, tmp_path), options=OPTIONS)
    assert found.guess("the brighter image").estimate.n == 14
    assert any("14 of 16 items" in remark for remark in found.remarks)


def test_pictures_are_left_alone_when_asked(tmp_path):
    options = AuditOptions(look=False, ngrams=False, resamples=50)
    found = audit(bench(choices(tmp_path, lighter=50), tmp_path), options=options)
    assert found.remarks == ("cues from pictures: left out on request",)


def test_an_encoder_for_items_with_one_picture_each_is_said_to_be_of_no_use(quick):
    one = pairs([("a dog", "a cat"), ("a red ball", "a blue ball")])
    found = audit(one, options=replace(quick, look=True, encoder="storybook"))
    assert [remark for remark in found.remarks if "storybook was not used" in remark]
