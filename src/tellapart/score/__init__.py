"""Putting models through benchmarks: what to score, the engine, and the runs that come out."""
