"""Verbs of studies with people."""
