"""The time to draw 2,000 scenes with their captions.

No peer draws such scenes, so the comparison is with the bare rasteriser on the same pictures: the
rest is our overhead. Prints one JSON line last.
"""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from tellapart.corpus.world.painter import StorybookPainter
from tellapart.corpus.world.world import random_scenes
from tellapart.verbs.world import world

SCENES = 2_000


def main() -> None:
    """Draw, then rasterise the same scenes alone on one core."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        world(Path(folder) / "world", scenes=SCENES, seed=0)
        whole = time.perf_counter() - started
    painter = StorybookPainter()
    sample = list(random_scenes(200, 0, painter))
    started = time.perf_counter()
    for scene in sample:
        painter.paint(scene)
    bare = (time.perf_counter() - started) / len(sample) * SCENES
    print(f"{SCENES:,} scenes: {whole:.1f} s; rasterising alone, one core: {bare:.1f} s")
    figures = {"scenes": SCENES, "world_s": whole, "bare_one_core_s": bare, "ratio": whole / bare}
    print(json.dumps({name: round(value, 3) for name, value in figures.items()}))


if __name__ == "__main__":
    main()
