"""BiVLC's finding on hard negatives at small scale: the built-in world, three seeds, two styles.

Small towers learn from plain captions of drawn scenes. Each is then fine-tuned for the same number
of steps without hard negatives (recipe coco), with negative texts (trohn-text) and with negative
texts and images (trohn-img), once with negatives from the captions' own grammar in the caption's
own style, and once with negatives in another style: the same statements in other words and other
forms, in training and in test, like a language model's negatives in the paper. The test is BiVLC
items of the other half of the world, and the first image of further items with both captions (as in
SugarCrepe). Differences are against the plain fine-tune, with intervals over groups of items for
the mean over seeds, and with the difference of each seed, because those intervals do not hold what
differs from training to training. `--learned` asks the same of the pairs that were trained on.
Finished parts are not repeated; the last line is JSON.

    python -P soak/hard_negatives.py WORK [--seeds 3] [--base 5000] [--pairs 3000] [--items 1200]
                                     [--batch 60] [--epochs 4] [--tested N] [--base-set epochs=4]
                                     [--learned]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tellapart as ta
from tellapart import registry, seeds
from tellapart.benchmark.benchmark import (
    Benchmark,
    load_benchmark,
    make_benchmark,
    write_benchmark,
)
from tellapart.corpus.world.grammar import Style, sentence, understand
from tellapart.files import whole_folder
from tellapart.items import Grid, Item
from tellapart.measures.contrast import paired_units
from tellapart.measures.cost import paired_interval
from tellapart.score.run import Run, load_run

HANDS = ("same hand", "other hand")
RECIPES = {"plain": "coco", "texts": "trohn-text", "images": "trohn-img"}
MEASURES = ("I2T", "T2I", "Group", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
LEARNED = ("Group", "Tpos2I", "Tneg2I")
FORMS = ("picture", "seen")


@dataclass(frozen=True, slots=True)
class NegativesPlan:
    """The size of the campaign; `pairs` of scenes are tuned on, a fifth of them to choose by.

    With `learned`, as many of these pairs as there are test items are asked, too.
    """

    seeds: int = 3
    base: int = 5_000
    pairs: int = 3_000
    items: int = 1_200
    base_changes: tuple[str, ...] = ("epochs=4",)
    batch: int = 60
    epochs: int = 4
    tested: int | None = None
    learned: bool = False
    rate: float = 3e-4

    def changes(self, kind: str) -> tuple[str, ...]:
        """Settings of a fine-tune: as many pictures or texts a batch, as many steps for each."""
        double = 2 if kind == "plain" else 1
        return (
            f"batch={double * self.batch}",
            f"epochs={double * self.epochs}",
            f"rate={self.rate}",
            "warmup=20",
            "clip_norm=1",
            "precision=bf16",
            "keep_last=true",
        )


@cache
def other_styles() -> tuple[int, ...]:
    """Numbers of styles that take the less usual wording of sizes, relations and places."""
    return tuple(n for n in range(1_000) if all((n // (what + 1)) % 3 == 2 for what in (2, 4, 5)))


def other_hand(caption: str, rng: np.random.Generator) -> str:
    """What a caption says, in other words and another form; as it is where that cannot be read."""
    statement = understand(caption)
    if statement is None:
        return caption
    form = FORMS[int(rng.integers(len(FORMS)))]
    number = other_styles()[int(rng.integers(len(other_styles())))]
    written = sentence(statement, Style(form, number, synonyms=True, with_word=True))
    return written if understand(written) == statement else caption


def rewritten(bench: Benchmark, out: Path, change: Any) -> Benchmark:
    """A copy of a benchmark whose items are changed."""
    if not out.exists():
        items = [change(item) for item in bench]
        with whole_folder(out) as folder:
            card = replace(bench.card, name=out.name)
            write_benchmark(make_benchmark(card, bench.root, items, bench.images.values()), folder)
    return load_benchmark(out)


def by_another(item: Item) -> Item:
    """An item whose false caption another hand wrote."""
    assert item.original is not None
    rng = seeds.rng(0, "other hand", item.id)
    captions = tuple(
        text if place == item.original[1] else other_hand(text, rng)
        for place, text in enumerate(item.captions)
    )
    return _built(item, Grid(item.images, captions, item.true, item.original))


def first_image(item: Item) -> Item:
    """The question that SugarCrepe asks: the original image, and both captions."""
    assert item.original is not None
    image, right = item.original
    order = tuple(range(len(item.captions)))
    return _built(item, Grid.caption_choice(item.images[image], item.captions, order, right=right))


def _built(item: Item, grid: Grid) -> Item:
    return Item.built("hard-negatives", grid, kind=item.kind, origin=item.origin)


def material(plan: NegativesPlan, work: Path) -> dict[str, Benchmark]:
    """Scenes to learn from and to be tested on, by both hands."""
    sizes = {"base": plan.base, "tune": plan.pairs, "test": plan.items, "choice": plan.items}
    found: dict[str, Benchmark] = {}
    for number, (name, scenes) in enumerate(sizes.items(), 1):
        drawn = work / (name if name == "base" else f"{name}-world")
        if not drawn.exists():
            part = "train" if name in ("base", "tune") else "test"
            ta.world(drawn, scenes=scenes, seed=10 * number, part=part)
        if name == "base":
            continue
        built = work / f"{name}-bivlc"
        own = load_benchmark(built) if built.exists() else ta.build("bivlc", drawn, built)
        hands: tuple[Benchmark, ...] = own, rewritten(own, work / f"{name}-other", by_another)
        if name == "choice":
            hands = tuple(
                rewritten(one, work / f"{one.root.name}-first", first_image) for one in hands
            )
        found |= {f"{name}, {hand}": one for hand, one in zip(HANDS, hands, strict=True)}
    return found


def models(plan: NegativesPlan, work: Path, parts: dict[str, Benchmark], seed: int) -> list[Path]:
    """The base and its fine-tunes, trained where they are not there yet."""

    def trained(name: str, on: Any, start: str, recipe: str, changes: Sequence[str]) -> Path:
        out = work / f"{name}-{seed}"
        if not out.exists():
            told = ta.TrainOptions(recipe=recipe, begin=start, changes=tuple(changes), seed=seed)
            print(ta.train("clip", on, out, options=told), flush=True)
        return out

    base = trained("base-towers", work / "base", "towers", "scratch", plan.base_changes)
    found = [base]
    for hand in HANDS:
        for kind, recipe in RECIPES.items():
            if kind == "plain" and hand != HANDS[0]:
                continue  # it sees no negatives, so the hand makes no difference
            name = f"{kind}-{hand.split()[0]}"
            on = parts[f"tune, {hand}"]
            found.append(trained(name, on, f"trained:{base}", recipe, plan.changes(kind)))
    return found


def answers(
    plan: NegativesPlan, work: Path, parts: dict[str, Benchmark], folder: Path
) -> dict[str, Run]:
    """The runs of one model on every test that is meant for it."""
    hand = HANDS[1] if "-other-" in folder.name else HANDS[0]
    both = "base-" in folder.name or "plain-" in folder.name
    found = {}
    for name, bench in parts.items():
        tuned_on = name.startswith("tune")
        if (tuned_on and not plan.learned) or not (both or name.endswith(hand)):
            continue
        out = work / "runs" / folder.name / name.replace(", ", "-").replace(" ", "-")
        runs = list(out.rglob("run.json"))
        if not runs:
            told = ta.EvaluateOptions(
                use_cache=False, limit=plan.items if tuned_on else plan.tested
            )
            ta.evaluate(f"trained:{folder}", bench, out, told)
            runs = list(out.rglob("run.json"))
        found[name] = load_run(runs[0].parent, bench)
    return found


@dataclass(frozen=True, slots=True)
class Cell:
    """A mean over seeds in percent, its difference to the plain fine-tune, and the interval.

    `each` has the difference of each seed.
    """

    value: float
    difference: float
    low: float
    high: float
    each: tuple[float, ...]

    def __str__(self) -> str:
        each = " ".join(f"{one:+.1f}" for one in self.each)
        interval = f"[{self.low:+.1f}, {self.high:+.1f}]"
        return f"{self.value:.1f} ({self.difference:+.1f} {interval}; seeds {each})"

    def to_json(self) -> list[float]:
        """The mean, the difference, its interval, and each seed's difference."""
        numbers = (self.value, self.difference, self.low, self.high, *self.each)
        return [round(one, 2) for one in numbers]


def cells(runs: dict[tuple[str, int], dict[str, Run]], hand: str) -> dict[str, dict[str, Cell]]:
    """Every measure of every model on one hand's tests, against the plain fine-tune."""
    last = sorted({seed for _, seed in runs})
    asked = {"choice": ("accuracy", f"choice, {hand}")}
    asked |= {one: (one, f"test, {hand}") for one in MEASURES}
    if all(f"tune, {hand}" in runs["plain-same", seed] for seed in last):
        asked |= {f"{one} of trained pairs": (one, f"tune, {hand}") for one in LEARNED}
    found: dict[str, dict[str, Cell]] = {}
    short = hand.split(maxsplit=1)[0]
    names = {"base": "base-towers", "plain": "plain-same"}
    names |= {kind: f"{kind}-{short}" for kind in ("texts", "images")}
    for label, folder in names.items():
        found[label] = {}
        for column, (measure, test) in asked.items():
            one = _units(runs, folder, test, measure, last)
            other = _units(runs, names["plain"], test, measure, last)
            groups = one[1]
            each = 100 * (one[0] - other[0])
            change = each.mean(axis=1)
            found[label][column] = Cell(
                float(100 * one[0].mean()),
                float(change.mean()),
                *paired_interval(change, groups),
                tuple(each.mean(axis=0).tolist()),
            )
    return found


def _units(
    runs: dict[tuple[str, int], dict[str, Run]], folder: str, test: str, measure: str,
    every: Sequence[int],
) -> tuple[Any, Any]:  # fmt: skip
    """What each unit got with each seed, and the groups that units belong to."""
    some = [runs[folder, seed][test] for seed in every]
    _, units = paired_units(some, registry.measures.get(measure), "wrong")
    return units.value, units.cluster


def table_text(found: dict[str, dict[str, Cell]]) -> str:
    """A line for each model; differences are against the plain fine-tune."""
    lines = []
    for model, row in found.items():
        lines.append(f"{model:7}" + "; ".join(f"{name} {cell}" for name, cell in row.items()))
    return "\n".join(lines)


def campaign(plan: NegativesPlan, work: Path) -> dict[str, dict[str, dict[str, Cell]]]:
    """All of it; after each seed the tables of what there is."""
    parts = material(plan, work)
    runs: dict[tuple[str, int], dict[str, Run]] = {}
    found: dict[str, dict[str, dict[str, Cell]]] = {}
    for seed in range(plan.seeds):
        for folder in models(plan, work, parts, seed):
            name = folder.name.rpartition("-")[0]
            runs[name, seed] = answers(plan, work, parts, folder)
        found = {hand: cells(runs, hand) for hand in HANDS}
        for hand, table in found.items():
            print(f"{hand}, {seed + 1} seeds\n{table_text(table)}\n", flush=True)
    return found


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Hard negatives on the built-in world.")
    parser.add_argument("work", type=Path)
    defaults = NegativesPlan()
    sizes = ("seeds", "base", "pairs", "items", "batch", "epochs", "tested")
    for name in sizes:
        parser.add_argument(f"--{name}", type=int, default=getattr(defaults, name))
    parser.add_argument("--base-set", action="append", help="a setting of the base's training")
    parser.add_argument("--learned", action="store_true", help="also ask pairs trained on")
    given = parser.parse_args()
    plan = replace(defaults, **{name: getattr(given, name) for name in (*sizes, "learned")})
    if given.base_set:
        plan = replace(plan, base_changes=tuple(given.base_set))
    found = campaign(plan, given.work)
    print(json.dumps(found, default=Cell.to_json))


if __name__ == "__main__":
    main()
