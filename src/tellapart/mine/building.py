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
from tellapart.models.model import PairScorer
from tellapart.models.names import load

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


class Verifier:
    """Answers "is this caption true of this image?", or "nobody knows"."""

    def __init__(self, corpus: Corpus, name: str) -> None:
        self.name = name
        self._corpus = corpus
        self._model: PairScorer | None = load(name) if name else None
        self._known: dict[tuple[str, str], bool] = {}

    def may_be_false(self, image: str, caption: str) -> bool:
        """False only where the verifier says that the caption is true."""
        return self._model is None or not self._says(image, caption)

    def may_fit(self, image: str, caption: str) -> bool:
        """False only where the verifier says that the caption is false."""
        return self._model is None or self._says(image, caption)

    def tells_apart(self, caption: str, target: str, decoy: str) -> bool:
        """Whether a caption may be true of one image and false of the other."""
        return self.may_fit(target, caption) and self.may_be_false(decoy, caption)

    def _says(self, image: str, caption: str) -> bool:
        assert self._model is not None
        key = (image, caption)
        if key not in self._known:
            score = self._model.score_pairs([self._corpus.picture(image)], [caption])[0]
            self._known[key] = bool(score > 0.5)
        return self._known[key]


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
