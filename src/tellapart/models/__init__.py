"""Models: the protocols that a model meets, and the built-in ones."""
