"""Refining: of many negatives the best, so that two text-only scores tell nothing of the truth."""
