"""Does self-critical training raise CIDEr-D on scenes that were not trained on?

    python -P soak/self_critical.py --scenes 300 --seeds 3

A captioner learns on drawn scenes by cross-entropy, then self-critically; both write captions of
held-out scenes of the same world, which are judged against each other image by image.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import dataclass
from pathlib import Path

import tellapart as ta
from tellapart.measures.captions.metric_scores import CaptionPair


@dataclass(frozen=True)
class Campaign:
    """What is drawn and trained; the numbers are those of the published figures."""

    scenes: int = 300
    held_out: int = 200
    system: str = "showtell"
    first: tuple[str, ...] = ("width=64", "epochs=8", "least=1", "rate=0.01")
    second: tuple[str, ...] = ("epochs=12", "rate=0.001")


def gain(campaign: Campaign, seed: int, folder: Path) -> CaptionPair:
    """CIDEr-D after the second stage against that after the first, on held-out scenes."""
    corpora = [
        ta.world(folder / name, scenes=scenes, seed=seed, part=part)
        for name, scenes, part in (
            ("train", campaign.scenes, "train"),
            ("test", campaign.held_out, "test"),
        )
    ]
    stages, start = [], None
    store = ta.features(corpora[0], folder / "pixels", ta.FeatureOptions(backbone="pixels"))
    for name, recipe, changes in (
        ("first", "small", campaign.first),
        ("second", "scst-small", campaign.second),
    ):
        how = ta.TrainOptions(
            recipe=recipe, changes=changes, features=(store.folder,), seed=seed, start=start
        )
        start = ta.train(campaign.system, corpora[0], folder / name, options=how).folder
        ta.caption(
            f"trained:{start}", corpora[1], folder / f"{name}.json",
            ta.WriteCaptionsOptions(method="greedy"),
        )  # fmt: skip
        stages.append(folder / f"{name}.json")
    judged = ta.captions(stages[::-1], corpora[1], ta.CaptionOptions(metrics=("CIDEr-D",)))
    (pair,) = judged.pairs
    return pair


def main() -> None:
    """Run all seeds and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", type=int, default=Campaign.scenes)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for seed in range(given.seeds):
        with tempfile.TemporaryDirectory() as name:
            pair = gain(Campaign(scenes=given.scenes), seed, Path(name))
        print(
            f"seed {seed}: CIDEr-D {100 * pair.second_value:.1f} by cross-entropy, "
            f"{100 * pair.first_value:.1f} after self-critical training: "
            f"{100 * pair.difference:+.1f} ({100 * pair.low:+.1f} to {100 * pair.high:+.1f}), "
            f"{pair.images} scenes, p {pair.p:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
