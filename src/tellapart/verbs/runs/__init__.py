"""Verbs of runs: made, measured, compared, shown."""
