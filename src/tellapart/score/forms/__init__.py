"""The forms in which answers come from elsewhere: one a file."""
