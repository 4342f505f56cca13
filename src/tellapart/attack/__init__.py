"""Attackers: models that choose a caption, or a picture, without comparing the two."""
