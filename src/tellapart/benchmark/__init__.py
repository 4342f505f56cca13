"""Benchmarks: folders of items with a card, in open formats."""
