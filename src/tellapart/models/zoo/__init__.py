"""The papers' systems, one file each."""
