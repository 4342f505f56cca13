"""Captions as text: words, n-grams, parses, vectors, and the metrics that compare captions."""
