"""Verbs of systems: features, training, and what systems write and find."""
