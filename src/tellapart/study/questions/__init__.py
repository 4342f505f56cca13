"""The questions that people are asked, one type a file; plugins add theirs by entry point."""

from tellapart.registry import questions as types

__all__ = ["types"]
