"""Is the attack honest? If nothing gives the truth away, its interval must contain chance.

The benchmarks are of the built-in world, and either caption is equally likely to be true: two
scenes are drawn, one of them is shown, and the options are a caption of each. Of 100 such
benchmarks, 95 should have chance inside the 95% interval; 89 or more pass (by chance, fewer happen
in one campaign of 100).

    python -P soak/fairness.py --seeds 100
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tellapart import seeds
from tellapart.attack.attack import Attackers, Hit, attack_benchmark
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark
from tellapart.corpus.world.world import captions, painter_of, random_scenes
from tellapart.items import Grid, Image, Item, Origin

ITEMS = 150
ENOUGH = 89


def fair_world(seed: int, items: int = ITEMS) -> Benchmark:
    """Items that nothing but the picture answers: of two captions either might be the true one."""
    scenes = list(random_scenes(2 * items, seed, painter_of({})))
    rng = seeds.rng(seed, "fair world")
    made = []
    for k in range(items):
        pair = [captions(scenes[2 * k + side], rng)[0] for side in (0, 1)]
        if pair[0] == pair[1]:
            continue
        shown = int(rng.integers(2))
        order = rng.permutation(2).tolist()
        grid = Grid.caption_choice(f"{2 * k + shown}", tuple(pair), order, right=shown)
        made.append(Item.built("fair", grid, kind="two scenes", origin=Origin("world")))
    images = [Image(f"{k}", f"{k}.png") for k in range(2 * items)]
    return make_benchmark(Card("fair-world"), Path(), made, images)


def attacked(seed: int, items: int = ITEMS) -> Hit:
    """What the stronger attacker gets."""
    attack = attack_benchmark(fair_world(seed, items), attackers=Attackers(seed, resamples=1_000))
    assert attack is not None
    return attack.overall


def campaign(first: int, number: int, items: int = ITEMS) -> list[Hit]:
    """The attack on benchmarks of consecutive seeds."""
    return [attacked(seed, items) for seed in range(first, first + number)]


def holds_chance(hit: Hit) -> bool:
    """Whether chance is inside the interval."""
    return hit.low <= hit.chance <= hit.high


def main() -> None:
    """Run the campaign; it fails where too few intervals hold chance."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--items", type=int, default=ITEMS)
    given = parser.parse_args()
    hits = campaign(0, given.seeds, given.items)
    held = sum(map(holds_chance, hits))
    mean = sum(hit.value for hit in hits) / len(hits)
    print(json.dumps({"seeds": given.seeds, "held": held, "mean": round(100 * mean, 2)}))
    if held < ENOUGH * given.seeds / 100:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
