"""Nearest neighbours of texts by cosine: exact and approximate, with one interface."""
