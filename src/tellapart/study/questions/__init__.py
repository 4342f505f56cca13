"""The questions that people are asked, one type a file; plugins add theirs by entry point."""

from tellapart.registry import Registry

types = Registry("tellapart.questions", "question")
"""Every question type that is installed, by name."""
