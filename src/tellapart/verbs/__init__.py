"""Verbs: what the toolkit does, one file each; Python and the command line follow from them."""
