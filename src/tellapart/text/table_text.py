"""Tables as text: aligned columns for a terminal, escaped cells for LaTeX."""

from __future__ import annotations

import re
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
    """A share in percent, with one decimal place.

    >>> percent(0.74963)
    '75.0'
    """
    return f"{100 * share:.1f}"


_ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
}
_SPECIAL = re.compile("|".join(re.escape(one) for one in _ESCAPES))


def escape(text: str) -> str:
    r"""Text escaped so that LaTeX prints it verbatim; line breaks become spaces.

    >>> print(escape("a_b & 50% of {x}"))
    a\_b \& 50\% of \{x\}
    """
    flat = re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text))
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], flat)
