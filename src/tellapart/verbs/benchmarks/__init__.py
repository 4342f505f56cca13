"""Verbs of benchmarks: got, looked at, handled, audited."""
