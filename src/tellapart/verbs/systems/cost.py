"""The verb `cost`: what fine-tuning gained, and what it lost elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, open_benchmark, open_corpus

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.measures.cost import TuningCost
    from tellapart.measures.zero_shot import ClassFolder


def cost(
    before: Annotated[Any, Help("The model before fine-tuning, as a model string.")],
    after: Annotated[Any, Help("The model after fine-tuning, such as trained:FOLDER.")],
    on: Annotated[
        Any,
        Help(
            "A benchmark, a corpus (retrieval) or a folder of classes (zero-shot); may be "
            "repeated.",
            flag="--on",
            repeat=True,
        ),
    ],
    *,
    templates: Annotated[
        str, Help("Zero-shot: one, simple (7), full, a file, or text with {} in it.")
    ] = "simple",
    progress: Progress = silent,
) -> TuningCost:
    """Compare a model before and after tuning: near misses, retrieval, zero-shot, learned cues.

    In Python: models, benchmarks and corpora may be objects.
    """
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.measures.cost import tuning_cost
    from tellapart.measures.zero_shot import ClassFolder, templates_of
    from tellapart.models.names import load

    sources = [on] if isinstance(on, str | Path) or not isinstance(on, Sequence) else list(on)
    if not sources:
        raise BadInput("nothing to measure on", allowed="--on BENCH, CORPUS or FOLDER")
    chosen = templates_of(templates)
    tests = [open_test(one) for one in sources]
    models = [load(one) if isinstance(one, str) else one for one in (before, after)]
    return tuning_cost(
        models[0],
        models[1],
        [one for one in tests if isinstance(one, Benchmark)],
        [one for one in tests if isinstance(one, Corpus)],
        [(one, chosen) for one in tests if isinstance(one, ClassFolder)],
        progress,
    )


def open_test(source: Any) -> Benchmark | Corpus | ClassFolder:
    """What a cost is measured on, read from its path if it is not loaded yet."""
    from tellapart.benchmark.benchmark import Benchmark, is_benchmark
    from tellapart.measures.zero_shot import ClassFolder, read_classes

    if isinstance(source, ClassFolder):
        return source
    path = Path(source) if isinstance(source, str | Path) else None
    if isinstance(source, Benchmark) or (path and is_benchmark(path)):
        return open_benchmark(source)
    return read_classes(path) if path and _has_classes(path) else open_corpus(source)


def _has_classes(path: Path) -> bool:
    """Whether a folder contains folders of pictures and is not a corpus."""
    if not path.is_dir() or (path / "corpus.json").is_file():
        return False
    inner = [one for one in path.iterdir() if one.is_dir()]
    beside = any(one.suffix == ".txt" and one.name != "classes.txt" for one in path.iterdir())
    return len(inner) > 1 and not beside


VERB = Verb(
    cost,
    example="tellapart cost storybook trained:my-clip --on my-bivlc --on my-classes",
)
