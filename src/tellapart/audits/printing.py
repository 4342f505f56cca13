"""Shares as text."""

from __future__ import annotations


def percent(share: float) -> str:
    """A share in percent, one place behind the point.

    >>> percent(0.74963)
    '75.0'
    """
    return f"{100 * share:.1f}"
