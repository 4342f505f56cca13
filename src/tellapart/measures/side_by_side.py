"""Models side by side: one line a measure, one column a model."""

from __future__ import annotations

from collections.abc import Sequence

from tellapart.measures.estimate import Estimate
from tellapart.measures.scores import Scores
from tellapart.text.table_text import aligned


def side_by_side(strict: Scores, halved: Scores) -> str:
    """A table of micro averages; where items tie, the score with ties halved stands behind.

    `0.0 ~50.0` reads: 0.0 as the papers count (a tie is wrong), 50.0 if ties were broken by a coin.
    """
    models = list(dict.fromkeys(row.model for row in strict.rows))
    half = {_key(row): row for row in halved.rows}
    lines: list[Sequence[str]] = [("benchmark", "measure", "chance", *models)]
    together: dict[tuple[str, str], dict[str, Estimate]] = {}
    for row in strict.only(kind="micro").rows:
        together.setdefault((row.benchmark, row.measure), {})[row.model] = row
    for (benchmark, measure), by_model in together.items():
        chance = f"{100 * next(iter(by_model.values())).chance:.1f}"
        cells = (_cell(by_model.get(model), half) for model in models)
        lines.append((benchmark, measure, chance, *cells))
    table = aligned(lines, range(2))
    total = sum(row.ties for row in strict.only(kind="micro").rows)
    return table + (
        "\n\n~ behind a score: ties halved (a tie counts as wrong before it)" if total else ""
    )


def _key(row: Estimate) -> tuple[str, str, str, str]:
    return row.benchmark, row.measure, row.kind, row.model


def _cell(row: Estimate | None, half: dict[tuple[str, str, str, str], Estimate]) -> str:
    if row is None:
        return "-"
    if not row.ties:
        return f"{100 * row.value:.1f}"
    share = "all tie" if row.ties == row.n else f"{row.ties} tie"
    return f"{100 * row.value:.1f} ~{100 * half[_key(row)].value:.1f} ({share})"
