"""Text tables with columns in line, and shares as they stand in them."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def aligned(rows: Sequence[Sequence[str]], left: Collection[int]) -> str:
    """Rows as lines: the columns in `left` flush left, the others flush right.

    >>> print(aligned([("model", "score"), ("oracle", "100.0")], {0}))
    model   score
    oracle  100.0
    """
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def percent(share: float) -> str:
    """A share in percent, one place behind the point.

    >>> percent(0.74963)
    '75.0'
    """
    return f"{100 * share:.1f}"
