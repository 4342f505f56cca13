"""The verbs of long work in shards."""
