"""Images with captions, read from many formats or drawn by the built-in world."""
