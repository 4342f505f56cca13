"""Vectors of images and of their regions, computed once and kept in files."""
