"""Text for LaTeX."""

from __future__ import annotations

import re

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
    r"""Text that LaTeX prints as it stands; line breaks become spaces.

    >>> print(escape("a_b & 50% of {x}"))
    a\_b \& 50\% of \{x\}
    """
    flat = re.sub(r"\s+", " ", "".join(c if c.isprintable() else " " for c in text))
    return _SPECIAL.sub(lambda match: _ESCAPES[match.group()], flat)
