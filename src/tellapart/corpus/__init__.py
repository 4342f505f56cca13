"""Images with their captions, read from wherever they are, or drawn by the built-in world."""
