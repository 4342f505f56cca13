"""Do systems that read in order notice word order? The built-in world, swapped captions, 3 seeds.

Scenes of one half of the world are drawn and systems trained on them; the test is BiVLC items of
the other half whose two captions have the same words in another order (swapped things, swapped
attributes), and for comparison all other items. The question is which of two captions fits an
image. ConvNet+BoW ties by construction on the first; a system that reads in order should be above
it. Figures are means over seeds, with ties counted as half and an interval over groups of items.
The last line is JSON.

    python -P soak/systems.py --scenes 6000 --items 1500 --seeds 3 [--backbone pixels]
                              [--systems convnet-bow,convnet-bigru] [--set epochs=10] [--work DIR]
                              [--others 400]

`--others` keeps so many of the items with other words, as a network looks at every picture again
for each trained system.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

sys.path.insert(0, str(Path(__file__).parent.parent))

from soak.seed_means import SeedMean, seed_mean

import tellapart as ta
from tellapart.benchmark.benchmark import Benchmark
from tellapart.text.tokens import tokens

SWAPPED, OTHER = "same words, other order", "other words"
SYSTEMS = ("convnet-bow", "convnet-bigru", "obj-bigru", "scan-i2t", "scan-t2i")


@dataclass(frozen=True, slots=True)
class WorldPlan:
    """The size of the campaign."""

    scenes: int = 6_000
    items: int = 1_500
    seeds: int = 3
    systems: tuple[str, ...] = SYSTEMS
    backbone: str = "pixels"
    changes: tuple[str, ...] = ("least=1",)
    others: int | None = None


def same_words(benchmark: Benchmark) -> frozenset[str]:
    """The items whose captions have the same words."""
    return frozenset(
        item.id
        for item in benchmark.items
        if len({tuple(sorted(tokens(text))) for text in item.captions}) == 1
    )


def runs_of(plan: WorldPlan, folder: Path) -> tuple[Benchmark, dict[str, list[Any]]]:
    """Train every system with every seed, and put all through the test."""
    # Both halves count their scenes alike: those whose number a test image has are left out.
    scenes = plan.scenes + plan.items
    whole = ta.world(folder / "train", scenes=scenes, seed=0, part="train", overwrite=True)
    held = ta.world(folder / "test", scenes=plan.items, seed=0, part="test", overwrite=True)
    options = ta.FeatureOptions(backbone=plan.backbone, overwrite=True)
    store = ta.features(whole, folder / "features", options)
    bench = ta.build("bivlc", held, folder / "bivlc", ta.BivlcOptions(overwrite=True))
    if plan.others is not None:
        bench = _with_fewer_others(bench, plan.others, folder / "fewer")
    kept = ta.CorpusOptions(without=(held.root,), limit=plan.scenes, overwrite=True)
    drawn = ta.gather_corpus([whole], folder / "kept", kept)
    runs: dict[str, list[Any]] = {}
    for system in plan.systems:
        for seed in range(plan.seeds):
            out = folder / f"{system}-{seed}"
            how = ta.TrainOptions(
                recipe="small", changes=plan.changes, features=(store.folder,), seed=seed
            )
            if not out.exists():
                print(ta.train(system, drawn, out, never=[bench], options=how), flush=True)
            where = folder / "runs" / f"{system}-{seed}"
            (run,) = ta.evaluate(
                f"trained:{out}",
                on=bench,
                out=where,
                options=ta.EvaluateOptions(use_cache=False, overwrite=True),
            )
            runs.setdefault(system, []).append(run)
    return bench, runs


def _with_fewer_others(bench: Benchmark, others: int, out: Path) -> Benchmark:
    swapped = same_words(bench)
    rest = [item.id for item in bench.items if item.id not in swapped][:others]
    chosen = ta.SubsetOptions(ids=swapped | frozenset(rest))
    return ta.subset(bench, out, chosen, name=bench.name, overwrite=True)


def figures(bench: Benchmark, runs: dict[str, list[Any]]) -> dict[str, dict[str, SeedMean]]:
    """By system and sort of item: the mean over seeds."""
    swapped = pl.col("item").is_in(list(same_words(bench)))
    found: dict[str, dict[str, SeedMean]] = {}
    for system, own in runs.items():
        tables = [ta.outcomes([run], measures=["I2T"]) for run in own]
        for name, part in ((SWAPPED, swapped), (OTHER, ~swapped)):
            found.setdefault(system, {})[name] = seed_mean([t.filter(part) for t in tables], name)
    return found


def table_text(found: dict[str, dict[str, SeedMean]]) -> str:
    """The figures in lines."""
    lines = [f"{'system':<15}{SWAPPED:>34}{'ties':>7}{OTHER:>30}"]
    for system, sorts in found.items():
        ties = f"{100 * sorts[SWAPPED].ties:.0f}%"
        lines.append(f"{system:<15}{sorts[SWAPPED]!s:>34}{ties:>7}{sorts[OTHER]!s:>30}")
    return "\n".join(lines)


def main() -> None:
    """Read the command line, run the campaign, print the figures."""
    parser = argparse.ArgumentParser(description="Order of words, on the world.")
    parser.add_argument("--scenes", type=int, default=WorldPlan().scenes)
    parser.add_argument("--items", type=int, default=WorldPlan().items)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--backbone", default="pixels")
    parser.add_argument("--others", type=int, help="how many items with other words; else all")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--work", type=Path)
    given = parser.parse_args()
    plan = WorldPlan(
        given.scenes, given.items, given.seeds, tuple(given.systems.split(",")), given.backbone,
        ("least=1", *given.set), given.others,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as temporary:
        bench, runs = runs_of(plan, given.work or Path(temporary))
        found = figures(bench, runs)
    print(table_text(found))
    print(
        json.dumps(
            {system: {k: asdict(v) for k, v in own.items()} for system, own in found.items()}
        )
    )


if __name__ == "__main__":
    main()
