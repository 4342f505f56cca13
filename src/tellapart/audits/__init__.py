"""The audit: what can be guessed without looking, and problems of the items."""
