"""Intervals and tests that know about clusters; every one cites its source."""
