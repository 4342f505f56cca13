"""Verbs for long jobs in shards."""
