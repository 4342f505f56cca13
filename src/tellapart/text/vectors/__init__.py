"""Words and texts as vectors."""
