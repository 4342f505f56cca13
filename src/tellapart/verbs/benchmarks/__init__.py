"""Verbs for benchmarks: get, show, change, audit and export them."""
