"""What captions are made of: tokens, lemmas, parts of speech, which words carry content."""
