"""What all builders share: their options, the check of captions by a verifier, the save."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, save_benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.mine.verifier import Verifier

__all__ = ["BuildOptions", "Progress", "Verifier", "finish", "own_options"]

Progress = Callable[[int, int], None]
Own = TypeVar("Own")


@dataclass(frozen=True)
class BuildOptions:
    """What every builder understands; `own` holds a builder's own options (`BivlcOptions`, ...).

    `verifier` is a model that says whether a caption is true of an image (a score above 0.5):
    `oracle` for the built-in world. Without one the benchmark is marked as not verified.
    """

    name: str = ""
    seed: int = 0
    items: int | None = None
    verifier: str = ""
    overwrite: bool = False
    progress: Progress = lambda done, total: None
    own: Any = None


def own_options(options: BuildOptions, kind: type[Own]) -> Own:
    """A builder's own options, or their defaults where none were given."""
    if options.own is None:
        return kind()
    if not isinstance(options.own, kind):
        raise BadInput(
            f"{type(options.own).__name__} are not options of this builder",
            allowed=f"own={kind.__name__}(...)",
        )
    return options.own


def finish(
    maker: str,
    corpus: Corpus,
    items: Iterable[Item],
    out: Path,
    options: BuildOptions,
    measures: tuple[str, ...],
    how: dict[str, Any],
) -> Benchmark:
    """Write what a builder made as a benchmark with its card."""
    card = Card(
        name=options.name or maker,
        about=f"{maker} items built from {corpus.name}",
        measures=measures,
        made={
            "by": f"tellapart build {maker}",
            "corpus": corpus.name,
            "corpus_about": dict(corpus.about),
            "seed": options.seed,
            **how,
        },
        verified=f"by the model {options.verifier}" if options.verifier else "",
        skipped=corpus.skipped,
    )
    images = (corpus.image(image_id) for image_id in corpus.images["id"])
    benchmark = make_benchmark(card, corpus.root, items, images)
    return save_benchmark(benchmark, out, overwrite=options.overwrite)
