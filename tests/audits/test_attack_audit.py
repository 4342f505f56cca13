"""The audit's attackers through the verb: planted leaks are found, each by its right name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow
from soak.fairness import fair_world
from tests.audits.conftest import bench
from tests.audits.test_image_guessers import GRID, draw, squares
from typer.testing import CliRunner

from tellapart import seeds
from tellapart.attack.attack import FEW
from tellapart.attack.features import IMAGE_ENCODER, MARKS, WORDS
from tellapart.audits.audit import Audit
from tellapart.audits.options import AuditOptions
from tellapart.benchmark.benchmark import Benchmark, make_benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.corpus.corpus import make_corpus
from tellapart.errors import BadInput
from tellapart.items import Item, Origin
from tellapart.verbs.benchmarks.audit import audit

QUICK = AuditOptions(look=False, ngrams=False, resamples=200)
Plant = Callable[[str, bool], str]


def planted(plant: Plant, items: int = 120, ordered: bool = False) -> Benchmark:
    """The world in which nothing gives the truth away, with something put into its captions."""
    fair = fair_world(0, items)
    made = []
    for item in fair:
        ((_, right),) = item.true
        texts = [plant(text, k == right) for k, text in enumerate(item.captions)]
        order = sorted(range(len(texts)), key=lambda k: texts[k]) if ordered else range(len(texts))
        cell = (0, list(order).index(right))
        made.append(
            Item.imported("test", item.id, images=item.images,
                          captions=tuple(texts[k] for k in order), true=frozenset({cell}),
                          kind="k", origin=Origin("test"), original=cell)
        )  # fmt: skip
    return make_benchmark(fair.card, Path(), made, fair.images)


def verdict_of(benchmark: Benchmark, **more: object) -> tuple[Audit, str]:
    found = audit(benchmark, options=QUICK, **more)  # type: ignore[arg-type]
    return found, "\n".join(found.verdict)


@pytest.mark.parametrize(
    ("plant", "name"),
    [
        (lambda text, right: text.rstrip(".") + ("." if right else ""), MARKS),
        (lambda text, right: text if right else text.replace(" ", " some ", 1), WORDS),
    ],
    ids=["a stop on true captions", "a word in false captions"],
)
def test_a_planted_leak_is_named(plant: Plant, name: str) -> None:
    found, verdict = verdict_of(planted(plant))
    assert found.attack is not None and found.attack.overall.low > 0.95
    assert found.attack.carried_by()[0][0] == name
    assert (
        verdict.startswith("guessable by text alone: ") and f"the main cues are {name}" in verdict
    )
    assert "Attackers that read captions" in str(found).split("\n\n")[1]
    assert str(found).endswith("\n".join(f"verdict: {line}" for line in found.verdict))


def test_nothing_is_called_guessable_where_nothing_is_planted() -> None:
    _, verdict = verdict_of(planted(lambda text, _: text))
    assert verdict.startswith("not guessable by text alone: ")
    assert "guessable" not in verdict.replace("not guessable", "")


def test_sorted_options_and_the_place_of_the_truth_are_named() -> None:
    _, verdict = verdict_of(planted(lambda text, right: text, ordered=True))
    assert "options are sorted" in verdict
    first = planted(lambda text, right: ("a " if right else "the ") + text, ordered=True)
    _, verdict = verdict_of(first)
    assert "guessable by the place of the caption" in verdict


def test_a_brighter_true_picture_is_named(tmp_path: Path) -> None:
    items = []
    for k in range(60):
        names = (f"{k}-0", f"{k}-1")
        for place, name in enumerate(names):
            draw(tmp_path / f"{name}.png", name, light=25 if place == k % 2 else 0)
        items.append(
            Item.imported("test", str(k), images=names, captions=("A cat",),
                          true=frozenset({(k % 2, 0)}), kind="k", origin=Origin("test"))
        )  # fmt: skip
    options = AuditOptions(ngrams=False, resamples=200)
    found = audit(bench(items, tmp_path), options=options)
    assert found.guess("the brighter image").estimate.value > 0.9
    assert found.pictures is not None and found.pictures.overall.low > 0.9
    verdict = "\n".join(found.verdict)
    assert "guessable by pictures alone: " in verdict and "the brighter image" in verdict


def test_a_frozen_encoder_sees_what_statistics_do_not(tmp_path: Path) -> None:
    # The true picture has a bright left half, the other one a bright right half.
    items = []
    for k in range(60):
        names = (f"{k}-0", f"{k}-1")
        for place, name in enumerate(names):
            halves(tmp_path / f"{name}.png", name, left=place == k % 2)
        items.append(
            Item.imported("test", str(k), images=names, captions=("A cat",),
                          true=frozenset({(k % 2, 0)}), kind="k", origin=Origin("test"))
        )  # fmt: skip
    told = bench(items, tmp_path)
    plain = AuditOptions(ngrams=False, resamples=200)
    without = audit(told, options=plain).pictures
    with_one = audit(told, options=replace(plain, encoder="storybook")).pictures
    assert without is not None and with_one is not None
    assert without.overall.value < 0.7 < 0.9 < with_one.overall.value
    assert with_one.carried_by()[0][0] == IMAGE_ENCODER and "storybook" in with_one.source
    with pytest.raises(BadInput, match="does not embed images"):
        audit(told, options=replace(plain, encoder="chance"))


def halves(path: Path, *key: object, left: bool) -> None:
    rng = seeds.rng(0, *key)
    pixels = rng.integers(90, 110, size=(32, 32, 3))
    pixels[:, slice(0, 16) if left else slice(16, 32)] += 100
    Pillow.fromarray(pixels.astype(np.uint8)).save(path)


def test_whole_grids_are_answered_by_both_attackers_together(tmp_path: Path) -> None:
    items = squares(tmp_path, told=True, number=60)
    found = audit(bench(items, tmp_path, GRID), options=AuditOptions(ngrams=False, resamples=50))
    both = "original or edited, by attackers on images and captions"
    assert found.guess(both, "Group").estimate.value == 1.0
    assert "this cannot answer a whole grid" in found.verdict[0]
    assert any("by an image and a text detector together" in line for line in found.verdict)


def test_captions_of_a_corpus_are_learned_from_and_named(tmp_path: Path) -> None:
    # Dogs are on sofas and cows in fields; the benchmark itself is too small to know.
    home = {"dog": "on a sofa", "cow": "in a field"}
    items = []
    for k in range(FEW + 10):
        true, false = ("dog", "cow") if k % 2 else ("cow", "dog")
        texts = (f"A {true} {home[true]} {k}", f"A {false} {home[true]} {k}")
        items.append(
            Item.imported("test", str(k), images=(f"own{k}",), captions=texts,
                          true=frozenset({(0, 0)}), kind="k", origin=Origin("test"),
                          original=(0, 0))
        )  # fmt: skip
    folder = save_benchmark(bench(items), tmp_path / "bench").root
    rows = [{"id": f"{k}", "uri": f"{k}.png"} for k in range(200)]
    texts = [
        {"id": f"{k}-0", "image": f"{k}", "text": f"A {thing} {home[thing]}"}
        for k in range(200)
        for thing in [("dog", "cow")[k % 2]]
    ]
    corpus = make_corpus("homes", tmp_path, rows, texts)
    found, _ = verdict_of(bench(items), captions_from=corpus)
    assert found.attack is not None and found.attack.learned_from == "200 captions, homes"
    assert found.attack.overall.value > 0.95
    told = CliRunner().invoke(app, ["audit", str(folder), "--json"]).stdout
    assert "true captions of the benchmark" in json.loads(told)["text_alone"]["source"]


def test_too_few_items_teach_nothing_and_it_is_said() -> None:
    found, _ = verdict_of(planted(lambda text, _: text, items=30))
    assert found.attack is None
    assert any("items are too few for attackers" in remark for remark in found.remarks)
