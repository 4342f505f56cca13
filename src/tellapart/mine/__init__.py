"""Builders: near-miss benchmarks from a corpus."""
