"""The verb `build`: a benchmark from a corpus, by the builder's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tellapart import registry
from tellapart.benchmark.benchmark import Benchmark
from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.errors import BadInput
from tellapart.mine.building import BuildOptions
from tellapart.tables import check_free


def build(
    what: str,
    corpus: Corpus | Path | str,
    out: Path | str,
    options: Any = BuildOptions(),  # noqa: B008 (frozen)
    reading: ReadOptions = ReadOptions(),  # noqa: B008 (frozen)
) -> Benchmark:
    """Build a benchmark (`bison`, `mcic`, `foil`, `bivlc`) into a folder and return it."""
    builder = registry.builders.get(what)
    if not isinstance(options, BuildOptions):  # a verb's options, which hold all of them
        reading = ReadOptions(
            **{name: getattr(options, name) for name in ReadOptions.__dataclass_fields__}
        )
        shared = ("name", "seed", "items", "verifier", "overwrite")
        options = BuildOptions(**{name: getattr(options, name) for name in shared}, own=options)
    if options.items is not None and options.items < 1:
        raise BadInput(f"{options.items} items are none", allowed="1 or more")
    check_free(Path(out), overwrite=options.overwrite)
    ready = corpus if isinstance(corpus, Corpus) else read_corpus(corpus, reading)
    made: Benchmark = builder(ready, Path(out), options)
    return made
