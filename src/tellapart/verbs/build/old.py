"""Builders that are verbs, called as `mine.build` calls a builder: until that is gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tellapart.verbs.build.common import BuildOptions

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus


def old_builder(
    function: Callable[..., Benchmark], defaults: BuildOptions
) -> Callable[[Corpus, Path, Any], Benchmark]:
    """A builder that takes its own options in `options.own`."""

    def build(corpus: Corpus, out: Path, options: Any) -> Benchmark:
        own = replace(
            options.own or defaults,
            name=options.name,
            seed=options.seed,
            items=options.items,
            verifier=options.verifier,
            overwrite=options.overwrite,
        )
        return function(corpus, out, own, lambda _, done, total: options.progress(done, total))

    build.__doc__ = function.__doc__
    return build
