"""The protocol of a caption metric: a named value that judges captions against references.

A plugin adds an object with the attributes of `CaptionMetric`, registered under
`tellapart.caption_metrics` in its package's entry points; the built-in metrics do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

import numpy as np

from tellapart.errors import TellapartError
from tellapart.registry import caption_metrics, read_options
from tellapart.text.caption_metrics.references import DocumentFrequencies, ReferenceSets
from tellapart.text.caption_metrics.scene_graphs import SceneTuple, scene_tuples
from tellapart.text.ptb import ptb_tokenise
from tellapart.types import Floats

Statistic = Callable[[Floats], Floats]
"""Maps totals over captions, shape (..., features), to one number each."""


class Texts:
    """Tokens and scene graphs of texts, computed once per text.

    `cache` is the folder for parses, if any.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._tokens: dict[str, str] = {}
        self._graphs: dict[str, frozenset[SceneTuple]] = {}

    def tokens(self, texts: Sequence[str]) -> list[str]:
        """The Penn Treebank tokens of each text, separated by spaces.

        >>> Texts().tokens(["A dog's ball.", "A cat"])
        ["a dog 's ball", 'a cat']
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._tokens]
        self._tokens.update(zip(new, ptb_tokenise(new), strict=True))
        return [self._tokens[text] for text in texts]

    def graphs(self, texts: Sequence[str]) -> list[frozenset[SceneTuple]]:
        """The scene graph of each text (needs a spaCy pipeline)."""
        from tellapart.text.parse import parse

        new = [text for text in dict.fromkeys(texts) if text not in self._graphs]
        parses = parse(new, cache=self._cache) if new else ()
        self._graphs.update(zip(new, map(scene_tuples, parses), strict=True))
        return [self._graphs[text] for text in texts]


@dataclass(frozen=True, eq=False)
class Material:
    """Captions to judge, each with its references, as written.

    `frequencies` are the document frequencies for CIDEr; None means those of the references here,
    with each caption's references as one document. Materials that share `texts` process each text
    once.
    """

    candidates: Sequence[str]
    references: Sequence[Sequence[str]]
    frequencies: DocumentFrequencies | None = None
    texts: Texts = field(default_factory=Texts)

    @cached_property
    def tokenised(self) -> tuple[list[str], list[list[str]]]:
        """Candidates and references as tokens separated by spaces."""
        every = self.texts.tokens([*self.candidates, *chain.from_iterable(self.references)])
        rest = iter(every[len(self.candidates) :])
        return every[: len(self.candidates)], [list(islice(rest, len(o))) for o in self.references]

    @cached_property
    def sets(self) -> ReferenceSets:
        """The tokens as numbers."""
        return ReferenceSets.of(*self.tokenised)


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """A metric's scores of some captions.

    `each` has one number per caption. The overall score is `statistic` of `features` (one row per
    caption) summed over captions, so it can be computed for any selection of captions, and
    resampled. `failed` are captions that the metric could not judge: they score 0 and are reported.
    """

    each: Floats
    features: Floats
    statistic: Statistic
    failed: tuple[int, ...] = ()

    @property
    def overall(self) -> float:
        """The score of all captions together."""
        return float(self.statistic(self.features.sum(axis=0)))

    @classmethod
    def averaged(cls, each: Floats, failed: tuple[int, ...] = ()) -> Marks:
        """Marks of a metric whose overall score is the mean over captions."""
        return cls(each, np.stack([each, np.ones(len(each))], axis=1), _mean, failed)


def _mean(totals: Floats) -> Floats:
    return np.asarray(totals[..., 0] / totals[..., 1])


class CaptionMetric(Protocol):
    """A metric is a value: its name is enough to rebuild it."""

    @property
    def name(self) -> str:
        """Its name, printed and used to select it."""
        ...

    @property
    def about(self) -> str:
        """One line of explanation."""
        ...

    @property
    def cites(self) -> str:
        """The publication that defines it."""
        ...

    @property
    def scale(self) -> float:
        """The factor that papers use: 100 for all the usual metrics."""
        ...

    @property
    def at_once(self) -> int:
        """The best number of captions per call, if there are very many."""
        ...

    def lacking(self) -> TellapartError | None:
        """The error that says what is not installed; None if nothing is missing."""
        ...

    def marks(self, material: Material) -> Marks:
        """Judge captions."""
        ...


class BuiltInMetric:
    """What the metrics of this package share."""

    __slots__ = ()
    scale = 100.0
    at_once = 20_000

    def check(self) -> None:
        """Raise if something it needs is missing; most metrics need only this package."""

    def lacking(self) -> TellapartError | None:
        """The error of `check`, or None."""
        try:
            self.check()
        except TellapartError as error:
            return error
        return None


def metric_of(text: str) -> CaptionMetric:
    """The metric that a string names: `BLEU-4`, or with options `BLEU-4?smoothing=floor`.

    Options are the fields of a metric that is a dataclass.

    >>> metric_of("BLEU-4?smoothing=floor").name
    'BLEU-4?smoothing=floor'
    """
    name, _, query = text.partition("?")
    metric: Any = caption_metrics.get(name)
    known = [f.name for f in fields(metric) if f.init] if is_dataclass(metric) else []
    defaults = {option: getattr(metric, option) for option in known}
    options = read_options(name, parse_qsl(query, keep_blank_values=True), defaults, text)
    chosen: CaptionMetric = replace(metric, **options) if options else metric
    return chosen
