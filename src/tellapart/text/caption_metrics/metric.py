"""What a caption metric is: a value with a name that judges captions against references.

A plugin adds one with an object that has the attributes of `CaptionMetric`, named under
`tellapart.caption_metrics` among its package's entry points; the built-in ones are added so too.
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
"""From totals over captions, shape (..., features), to one number each."""


class Texts:
    """What metrics read off texts, each text once: its tokens, and its scene graph.

    `cache` is the folder under which parses are kept, if any.
    """

    def __init__(self, cache: Path | None = None) -> None:
        self._cache = cache
        self._tokens: dict[str, str] = {}
        self._graphs: dict[str, frozenset[SceneTuple]] = {}

    def tokens(self, texts: Sequence[str]) -> list[str]:
        """The Penn Treebank tokens of each text, with spaces between.

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
    """Captions to be judged, each with the references that it is compared with, as written.

    `frequencies` are the document frequencies for CIDEr; None means those of the references here,
    those of each caption as one document. Materials that share `texts` read each text once.
    """

    candidates: Sequence[str]
    references: Sequence[Sequence[str]]
    frequencies: DocumentFrequencies | None = None
    texts: Texts = field(default_factory=Texts)

    @cached_property
    def tokenised(self) -> tuple[list[str], list[list[str]]]:
        """Candidates and references as tokens with spaces between."""
        every = self.texts.tokens([*self.candidates, *chain.from_iterable(self.references)])
        rest = iter(every[len(self.candidates) :])
        return every[: len(self.candidates)], [list(islice(rest, len(o))) for o in self.references]

    @cached_property
    def sets(self) -> ReferenceSets:
        """The tokens as numbers."""
        return ReferenceSets.of(*self.tokenised)


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """What a metric makes of some captions.

    `each` has one number a caption. The overall score is `statistic` of `features` (one row a
    caption) summed over captions: so it can be had for any selection of captions, and resampled.
    `failed` are captions that the metric could not judge: they have 0, and are told of.
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
        """Of a metric whose overall score is the mean over captions."""
        return cls(each, np.stack([each, np.ones(len(each))], axis=1), _mean, failed)


def _mean(totals: Floats) -> Floats:
    return np.asarray(totals[..., 0] / totals[..., 1])


class CaptionMetric(Protocol):
    """A metric is a value: its name builds it again."""

    @property
    def name(self) -> str:
        """What it prints and is called by."""
        ...

    @property
    def about(self) -> str:
        """One line of explanation."""
        ...

    @property
    def cites(self) -> str:
        """Where it is defined."""
        ...

    @property
    def scale(self) -> float:
        """What papers multiply it by: 100 for all the usual ones."""
        ...

    @property
    def at_once(self) -> int:
        """How many captions it is best given together, where there are very many."""
        ...

    def lacking(self) -> TellapartError | None:
        """What is missing on this machine for it to run; None where nothing is."""
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
        """Raise where something is missing for it to run; most need nothing but this package."""

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
