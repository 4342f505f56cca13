"""What the text alone gives away: the one figure that every score is held against.

A benchmark that was built by an attacked way carries it on its card (`made["text_alone"]`, in
percent); for others it is computed from their own true captions, once, and kept in the cache.
Figures that were learned from different captions are not compared, so each says from which.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Self

import numpy as np

from tellapart.attack.attack import ALL, FEW, Hit, attack_benchmark
from tellapart.attack.choices import caption_choices
from tellapart.attack.trees import trees_installed
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import TellapartError
from tellapart.store.arrays import Arrays, ArrayShelf
from tellapart.text.table_text import percent
from tellapart.types import Progress, silent

KEY = "text_alone"
NUMBERS = ("value", "low", "high", "chance")
ATTACK_FORMAT = 1
"""Raised whenever attackers change, so that older figures are never read from the cache."""
QUICK = 1.0
"""Seconds below which a figure is computed again rather than kept."""


@dataclass(frozen=True, slots=True)
class TextAlone:
    """The stronger attacker's figures, over all choices and by kind, and what it learned from."""

    overall: Hit
    kinds: tuple[Hit, ...]
    attacker: str
    source: str

    @classmethod
    def of_card(cls, made: Mapping[str, Any], sha256: str = "") -> Self | None:
        """What a card says; None where it says nothing, or of other items."""
        known = made.get(KEY)
        if not isinstance(known, Mapping) or known.get("items_sha256", sha256) not in ("", sha256):
            return None
        overall = _hit(ALL, known)
        if overall is None:
            return None
        told = known.get("kinds")
        kinds = [_hit(kind, one) for kind, one in told.items()] if isinstance(told, Mapping) else []
        about = (str(known.get(part) or "an attacker") for part in ("attacker", "source"))
        return cls(overall, tuple(hit for hit in kinds if hit is not None), *about)

    def of_kind(self, kind: str) -> Hit | None:
        """The figure of a kind."""
        return next((hit for hit in self.kinds if hit.kind == kind), None)

    def __str__(self) -> str:
        own = self.overall
        return (
            f"text alone: {percent(own.value)}% [{own.interval}], chance {percent(own.chance)}%, "
            f"{self.attacker}, learned from {self.source}"
        )

    def arrays(self) -> Arrays:
        """As arrays, for the cache."""
        hits = (self.overall, *self.kinds)
        return {
            "numbers": np.array([[getattr(hit, name) for name in NUMBERS] for hit in hits]),
            "n": np.array([hit.n for hit in hits]),
            "kinds": np.array([hit.kind for hit in hits]),
            "about": np.array([self.attacker, self.source]),
        }

    @classmethod
    def of_arrays(cls, arrays: Arrays) -> Self:
        """From the cache."""
        rows = zip(arrays["kinds"], arrays["numbers"], arrays["n"], strict=True)
        hits = []
        for kind, numbers, n in rows:
            value, low, high, chance = map(float, numbers)
            hits.append(Hit(str(kind), value, low, high, chance, int(n)))
        attacker, source = map(str, arrays["about"])
        return cls(hits[0], tuple(hits[1:]), attacker, source)


def _hit(kind: str, known: Any) -> Hit | None:
    if not isinstance(known, Mapping):
        return None
    shares = [known.get(name) for name in NUMBERS]
    numbers = [share / 100 for share in shares if isinstance(share, int | float)]
    if len(numbers) < len(NUMBERS):
        return None
    value, low, high, chance = numbers
    return Hit(kind, value, low, high, chance, int(known.get("n") or 0))


def read_by(benchmark: Benchmark) -> tuple[str, ...]:
    """The measures that the figure is a score of: of 2 x 2 grids, only with the original image.

    Where an item is an image with a true caption and a false one, whoever guesses which is true
    judges both captions rightly or both wrongly, so T1 is the same figure.
    """
    if any(min(shape) > 1 for shape in benchmark.items.shapes):
        return ("Ipos2T",)
    pairs = all(
        (one.images, one.captions, len(one.true)) == (1, 2, 1) for one in benchmark.items.patterns
    )
    return ("accuracy", "T1", "T1@own", "T1@fitted") if pairs else ("accuracy",)


def text_alone(
    benchmark: Benchmark, *, compute: bool = True, progress: Progress = silent
) -> TextAlone | None:
    """What the text alone gives away; None where no caption is chosen, or too few to learn from.

    Without `compute` only what the card or the cache has.
    """
    known = TextAlone.of_card(benchmark.card.made, benchmark.sha256)
    if known is not None or len(caption_choices(benchmark.items)) < FEW:
        return known
    shelf = ArrayShelf.on(KEY, ATTACK_FORMAT, trees_installed(), benchmark.sha256)
    kept = shelf.read(KEY)
    if kept is not None:
        return TextAlone.of_arrays(kept)
    if not compute:
        return None
    begin = monotonic()
    attack = attack_benchmark(benchmark, progress=progress)
    if attack is None:
        return None
    hits = attack.hits[attack.attacker]
    found = TextAlone(hits[0], hits[1:], attack.attacker, attack.learned_from)
    if monotonic() - begin > QUICK:
        with suppress(TellapartError):  # a cache that cannot be written is no reason to fail
            shelf.write(KEY, **found.arrays())
    return found
