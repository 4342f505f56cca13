"""What a view begins with: every run by its benchmark's main measure, with lines through them.

Lines need no picture: chance, what the text alone gives away (as the card says it, or as a guesser
finds it, which takes a while and comes later).
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
"""Larger benchmarks are not guessed at unasked: their cards may say what the text gives away."""


@dataclass(slots=True)
class Overviews:
    """The overviews of sheets, each worked out once; guesses come from a thread of their own."""

    _known: dict[tuple[Any, ...], list[Estimate]] = field(default_factory=dict)
    _guesses: dict[str, list[ReferenceLine] | None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, sheet: Sheet, *, wait: bool = False) -> dict[str, Any]:
        """One sheet's overview; `pending` while guesses are made, unless they are waited for."""
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
        """What text alone gives away: as the card says it, else as guessers find it."""
        lines: list[ReferenceLine] = []
        try:
            lines = _guesses(sheet)
        except TellapartError:
            pass  # an item that no guesser can read: the line is left out
        finally:
            with self._lock:
                self._guesses[sheet.benchmark.sha256] = lines


def _guesses(sheet: Sheet) -> list[ReferenceLine]:
    from tellapart.audits.guesses import guessable  # takes as long to import as all the rest

    main = sheet.measures[0].name
    told = text_alone_line(sheet.benchmark, sheet.label, main)
    if told is not None:
        return [told]
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
