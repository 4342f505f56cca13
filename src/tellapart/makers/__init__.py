"""Makers of images: drawn, edited, generated here or elsewhere, behind one protocol."""
