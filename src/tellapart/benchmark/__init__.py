"""Benchmarks: items with a card, as folders that anyone can read."""
