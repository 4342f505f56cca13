"""Measures: they read runs and return estimates."""
