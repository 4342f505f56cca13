"""The question types of studies; plugins add theirs by entry point."""

from tellapart.registry import questions as types

__all__ = ["types"]
