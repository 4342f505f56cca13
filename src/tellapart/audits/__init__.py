"""The audit: what can be guessed without looking, and what is odd about the items."""
