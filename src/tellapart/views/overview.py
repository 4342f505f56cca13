"""The first page of a view: every run by its benchmark's main measure, with reference lines.

The lines need no pictures: chance, and what the text alone gives away (from the card, or computed
by a guesser, which takes a while and is added later).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from tellapart.errors import TellapartError
from tellapart.measures.contestants import is_reference
from tellapart.measures.overview import ReferenceLine, chance_lines, text_alone_line
from tellapart.measures.scores import Estimate, estimates
from tellapart.views.captions import CaptionSheet
from tellapart.views.sheet import Sheet

MOST_GUESSED = 20_000
"""Larger benchmarks are not guessed automatically; their cards may have the result."""


@dataclass(slots=True)
class Overviews:
    """The overviews of sheets, each computed once; guesses are computed in a background thread."""

    _known: dict[tuple[Any, ...], list[Estimate]] = field(default_factory=dict)
    _guesses: dict[str, list[ReferenceLine] | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, sheet: Sheet, *, wait: bool = False) -> dict[str, Any]:
        """One sheet's overview; it is `pending` while guesses are being computed, unless `wait`."""
        if isinstance(sheet, CaptionSheet):
            return sheet.overview_json()
        measure = sheet.measures[0].name if sheet.measures else ""
        rows = [(one, self._estimate(sheet, k)) for k, one in enumerate(sheet.contestants)]
        found = [row for _, some in rows for row in some]
        lines = chance_lines(found)[:1]
        guesses = self._guessed(sheet, wait) if found else []
        return {
            "sheet": sheet.label,
            "measure": measure,
            "pending": guesses is None,
            "top": sheet.top,
            "rows": [
                {
                    "label": one.label,
                    "reference": is_reference(one.run.model),
                    "live": one.live,
                    **(_shown(some[0]) if some else {"value": None}),
                }
                for one, some in rows
            ],
            "lines": [
                {"label": line.label, "value": line.value, "note": line.note}
                for line in (*lines, *(guesses or ()))
            ],
        }

    def _estimate(self, sheet: Sheet, k: int) -> list[Estimate]:
        one = sheet.contestants[k]
        key = (sheet.benchmark.sha256, one.label, id(one.run))
        if key not in self._known and sheet.measures:
            self._known[key] = estimates(one.run, sheet.measures[0], by_kind=False)
        return self._known.get(key, [])

    def _guessed(self, sheet: Sheet, wait: bool) -> list[ReferenceLine] | None:
        sha256 = sheet.benchmark.sha256
        with self._lock:
            if sha256 in self._guesses:
                return self._guesses[sha256]
            self._guesses[sha256] = None
        guessing = threading.Thread(target=self._guess, args=(sheet,), daemon=True)
        guessing.start()
        if wait:
            guessing.join()
        return self._guesses[sha256]

    def _guess(self, sheet: Sheet) -> None:
        """Find what the text alone gives away: from the card, else by guessers."""
        lines: list[ReferenceLine] = []
        try:
            lines = _guesses(sheet)
        except TellapartError:
            pass  # no guesser can read an item: omit the line
        finally:
            with self._lock:
                self._guesses[sheet.benchmark.sha256] = lines


def _guesses(sheet: Sheet) -> list[ReferenceLine]:
    from tellapart.audits.guesses import guessable  # imports as slowly as everything else together

    main = sheet.measures[0].name
    line = text_alone_line(sheet.benchmark, sheet.label, main)
    if line is not None:
        return [line]
    if len(sheet) > MOST_GUESSED:
        return []
    best = guessable(sheet.benchmark, resamples=200).rows
    wanted = [one for one in best if one.estimate.kind == "micro"]
    return [one.line(sheet.label) for one in wanted if one.estimate.measure == main]


def _shown(row: Estimate) -> dict[str, Any]:
    return {
        "value": row.value, "low": row.low, "high": row.high, "n": row.n, "ties": row.ties,
        "failed": row.failed, "clusters": row.clusters, "method": row.method,
    }  # fmt: skip
