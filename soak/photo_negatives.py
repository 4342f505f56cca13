"""Hard negatives on real photographs: ConvNet+BiGRU on frozen features, rule-made negatives.

Starts from the systems that `soak/bison_systems.py` trained on captions alone (OUT/convnet-bigru-N)
and fine-tunes each on COCO images that no test uses, for the same number of steps without and with
negative texts. With `--pairs`, a benchmark of `build bivlc --maker photo:` on val2017, those of its
pairs whose photographs may be trained on join the data of every fine-tune, `TIMES` over, and a
third fine-tune sees their second pictures, too. The tests are the SugarCrepe rows and COCO-BISON
examples whose images were not used for training, the other pairs, and retrieval among 500 further
images. Differences are against the plain fine-tune, with intervals over groups of items for the
mean over seeds. Needs the data at TELLAPART_REAL_DATA. Finished parts are not repeated; the last
line is JSON.

    python -P soak/photo_negatives.py OUT WORK [--seeds 3] [--system convnet-bigru] [--pairs BENCH]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tellapart as ta
from tellapart import registry
from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.benchmark.captions import corpus_of
from tellapart.measures.contrast import paired_units
from tellapart.measures.cost import paired_interval
from tellapart.score.run import Run, load_run

PARTS = ("train", "dev")
KINDS = {"plain": "none", "texts": "texts", "images": "images"}
TIMES = 4
"""How often a pair of photographs is in the training data, since there are few."""


@dataclass(frozen=True, slots=True)
class PhotoPlan:
    """How much is trained: as many texts a batch and as many steps for each."""

    system: str = "convnet-bigru"
    seeds: int = 3
    batch: int = 128
    epochs: int = 4
    rate: float = 2e-4
    pairs: Path | None = None

    @property
    def kinds(self) -> list[str]:
        """The fine-tunes: images are negatives only if there are pairs."""
        return [kind for kind in KINDS if kind != "images" or self.pairs]

    def changes(self, kind: str) -> tuple[str, ...]:
        """Settings of one fine-tune."""
        double = 2 if kind == "plain" else 1
        return (
            f"negatives={KINDS[kind]}",
            f"batch={double * self.batch}",
            f"epochs={double * self.epochs}",
            f"rate={self.rate}",
            "warmup=20",
            "loss=info-nce",
            "keep_last=true",
        )


def tests(bison: Path, work: Path, source: Path) -> dict[str, Benchmark]:
    """SugarCrepe outside the training images, and COCO-BISON."""
    if not (work / "sugarcrepe").exists():
        files = sorted((source / "sugarcrepe").glob("*.json"))
        given = ta.GetOptions(images=source / "coco" / "images")
        whole = ta.get("sugarcrepe", files, work / "sugarcrepe-all", given)
        seen = {
            image
            for name in ("coco-train", "coco-dev")
            for image in ta.read_corpus(bison / name).images["id"]
        }
        numbers = {int(image) for image in seen}
        names = [image for image in whole.images if _number(image) not in numbers]
        there = [image for image in names if whole.picture(image).is_there()]
        kept = whole.items.with_images(there)
        chosen = ta.SubsetOptions(ids=frozenset(kept.ids))
        ta.subset(whole, work / "sugarcrepe", chosen, name="sugarcrepe")
    return {
        "sugarcrepe": load_benchmark(work / "sugarcrepe"),
        "bison": load_benchmark(bison / "bison"),
    }


def photo_pairs(pairs: Path, bison: Path, work: Path) -> dict[str, Benchmark]:
    """Pairs of photographs that are trained on, and the others, with features of all pictures."""
    whole = load_benchmark(pairs)
    if not (work / "pair-features").exists():
        ta.features(corpus_of(whole, uncaptioned=True), work / "pair-features")
    parts = {name: set(ta.read_corpus(bison / f"coco-{name}").images["id"]) for name in PARTS}
    found = {}
    for name, wanted in (("pairs-train", parts["train"]), ("pairs", None)):
        ids = frozenset(
            item.id
            for item in whole
            if (item.origin.source_id in wanted if wanted is not None else
                all(item.origin.source_id not in part for part in parts.values()))
        )  # fmt: skip
        if not (work / name).exists():
            ta.subset(whole, work / name, ta.SubsetOptions(ids=ids), name=name)
        found[name] = load_benchmark(work / name)
    return found


def _number(image: str) -> int:
    return int("".join(c for c in Path(image).stem.split("_")[-1] if c.isdigit()))


def trained(plan: PhotoPlan, bison: Path, work: Path, kind: str, seed: int) -> Path:
    """One fine-tune, unless it is there."""
    out = work / f"{plan.system}-{kind}-{seed}"
    if not out.exists():
        start = bison / f"{plan.system}-{seed}"
        on, stores = [work / "negatives"], [bison / "features"]
        if plan.pairs:
            on += TIMES * [work / "pairs-train"]
            stores.append(work / "pair-features")
        told = ta.TrainOptions(
            recipe="small",
            changes=plan.changes(kind),
            features=tuple(stores),
            seed=seed,
            start=start if start.exists() else bison / f"{plan.system}-0",
        )
        never = [bison / "bison", work / "sugarcrepe"]
        done = ta.train(plan.system, on, out, validation=[bison / "dev"], never=never, options=told)
        print(done, flush=True)
    return out


def run_on(work: Path, name: str, folder: Path, bench: Benchmark, store: Path) -> Run:
    """The run of a system on a benchmark, made where it is not there."""
    out = work / "runs" / name / bench.name
    if not list(out.rglob("run.json")):
        ta.evaluate(f"trained:{folder}?features={store}", bench, out)
    return load_run(next(iter(out.rglob("run.json"))).parent, bench)


def figures(plan: PhotoPlan, bison: Path, work: Path, source: Path) -> dict[str, Any]:
    """Train and test everything; every figure with its difference to the plain fine-tune."""
    benches = tests(bison, work, source)
    stores = dict.fromkeys(benches, bison / "features")
    if plan.pairs:
        benches["pairs"] = photo_pairs(plan.pairs, bison, work)["pairs"]
        stores["pairs"] = work / "pair-features"
    runs: dict[tuple[str, str], list[Run]] = {}
    recall: dict[tuple[str, str], list[float]] = {}
    for seed in range(plan.seeds):
        base = bison / f"{plan.system}-{seed}"
        folders = {"base": base if base.exists() else bison / f"{plan.system}-0"}
        folders |= {kind: trained(plan, bison, work, kind, seed) for kind in plan.kinds}
        for kind, folder in folders.items():
            for name, bench in benches.items():
                one = run_on(work, f"{plan.system}-{kind}-{seed}", folder, bench, stores[name])
                runs.setdefault((kind, name), []).append(one)
            model = f"trained:{folder}?features={bison / 'features'}"
            for row in ta.retrieve(model, bison / "coco-recall").rows:
                recall.setdefault((kind, row.direction), []).append(100 * row.recall[1])
    found: dict[str, Any] = {}
    for (kind, name), some in runs.items():
        for label, picked in _by_family(some, runs["plain", name]).items():
            values, plain, groups = picked
            change = 100 * (values - plain)
            found.setdefault(kind, {})[f"{name} {label}".strip()] = [
                round(float(x), 2)
                for x in (100 * values.mean(), change.mean(), *paired_interval(change, groups))
            ] + [len(values)]
    for (kind, way), shares in recall.items():
        found[kind][f"R@1 {way}"] = round(float(np.mean(shares)), 2)
    return found


def _by_family(some: list[Run], plain: list[Run]) -> dict[str, tuple[Any, Any, Any]]:
    measure = registry.measures.get("accuracy")
    _, units = paired_units([*some, *plain], measure, "wrong")
    values, others = (part.mean(axis=1) for part in np.split(units.value, [len(some)], axis=1))
    found = {"": (values, others, units.cluster)}
    families = np.array([one.split("-")[0] for one in units.kinds])[units.kind]
    for family in sorted(set(families)):
        if len(set(families)) > 1:
            keep = families == family
            found[str(family)] = values[keep], others[keep], units.cluster[keep]
    return found


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Hard negatives on photographs.")
    parser.add_argument("bison", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--system", default="convnet-bigru")
    parser.add_argument("--pairs", type=Path)
    given = parser.parse_args()
    source = os.environ.get("TELLAPART_REAL_DATA")
    if not source:
        sys.exit("TELLAPART_REAL_DATA does not name the data")
    if not (given.work / "negatives").exists():
        told = ta.NegativesOptions(
            unfiltered=True,
            details="added",
            objects=Path(source) / "coco" / "objects_val2014.json.gz",
        )
        ta.build("negatives", given.bison / "coco-train", given.work / "negatives", told)
    plan = PhotoPlan(given.system, given.seeds, pairs=given.pairs)
    found = figures(plan, given.bison, given.work, Path(source))
    for kind, row in found.items():
        print(kind, *(f"{name} {value}" for name, value in row.items()), sep="\n  ")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
