"""Verbs for systems: features, training, captioning, retrieval, zero-shot."""
