"""The overhead of making candidates beyond the maker's own time, and the speed of the world maker.

There are two parts. `overhead` is the share of processor time that storing, hashing and listing
pictures adds to a maker's own, here a stand-in that computes for a given time per picture (real
generators need a second or more). The other part draws and writes candidates of the world. All
times are processor times of this process, so that they hold on a busy machine; `world_per_s` is for
two cores. Prints one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from tellapart.corpus.world.painter import StorybookPainter
from tellapart.corpus.world.world import captions, random_scenes
from tellapart.makers.candidates import make_candidates
from tellapart.makers.maker import ImageRequest, MadeImage, MakerInfo, load_maker, png
from tellapart.seeds import rng

CORES = 2


class Busy:
    """Computes for `seconds` of processor time, then gives a picture of 512 x 512 pixels."""

    needs, batch = "caption", 1

    def __init__(self, seconds: float) -> None:
        self.facts = MakerInfo(f"busy:{seconds}")
        self.seconds, self.spent = seconds, 0.0

    def make(self, requests: Sequence[ImageRequest]) -> list[MadeImage]:
        """One picture a request."""
        begun = time.process_time()
        made = []
        for one in requests:
            noise = rng(one.seed, "busy").normal(128, 30, (64, 64, 3)).clip(0, 255)
            small = Image.fromarray(noise.astype(np.uint8))
            made.append(png(small.resize((512, 512), Image.Resampling.BICUBIC)))
            while time.process_time() - begun < self.seconds:
                pass
        self.spent += time.process_time() - begun
        return made


def wanted(number: int) -> list[ImageRequest]:
    """Requests for captions of the world."""
    scenes = random_scenes(number, 0, StorybookPainter())
    texts = [captions(scene, rng(0, "images", k), 1)[0] for k, scene in enumerate(scenes)]
    return [ImageRequest(f"k{k:05d}", text, k) for k, text in enumerate(texts)]


def overhead(seconds: float, pictures: int) -> float:
    """Processor time beside the maker's own, as a share of its own."""
    maker, requests = Busy(seconds), wanted(pictures)
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        make_candidates(maker, requests, Path(folder))
        whole = time.process_time() - begun
    return (whole - maker.spent) / maker.spent


def world_rate(pictures: int) -> float:
    """Candidates of the world a second on two cores, from processor time."""
    maker, requests = load_maker("world:"), wanted(pictures)
    maker.make(requests[:4])  # drawings are read once
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        make_candidates(maker, requests, Path(folder))
        spent = time.process_time() - begun
    return CORES * pictures / spent


def main() -> None:
    """Measure both and print them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=0.5, help="a stand-in's time a picture")
    parser.add_argument("--pictures", type=int, default=20)
    parser.add_argument("--candidates", type=int, default=300, help="of the world")
    given = parser.parse_args()
    figures = {
        "overhead": overhead(given.seconds, given.pictures),
        "world_per_s": world_rate(given.candidates),
    }
    print(
        f"beside {given.seconds:g} s of a maker: {100 * figures['overhead']:.2f}% more; the world "
        f"draws and writes {figures['world_per_s']:.0f} candidates a second on {CORES} cores"
    )
    print(json.dumps({name: round(value, 4) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
