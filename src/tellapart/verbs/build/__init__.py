"""Builders: how each makes a benchmark from a corpus."""
