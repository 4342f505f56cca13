"""Models of open_clip."""
