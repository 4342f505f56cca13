"""The audit's attackers through the verb: planted leaks are found, each by its right name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from soak.fairness import fair_world
from tests.audits.conftest import bench
from tests.audits.test_image_guessers import draw
from typer.testing import CliRunner

from tellapart.attack.attack import FEW
from tellapart.attack.features import MARKS, WORDS
from tellapart.audits.audit import Audit
from tellapart.audits.options import AuditOptions
from tellapart.benchmark.benchmark import Benchmark, make_benchmark, save_benchmark
from tellapart.cli.main import app
from tellapart.corpus.corpus import make_corpus
from tellapart.items import Item, Origin
from tellapart.verbs.audit import audit

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
    assert verdict.startswith("guessable by text alone: ") and f"carried by {name}" in verdict
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
    assert "brightness" in "\n".join(found.verdict) or "brighter" in "\n".join(found.verdict)


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
    assert any("attackers learn nothing from" in remark for remark in found.remarks)
