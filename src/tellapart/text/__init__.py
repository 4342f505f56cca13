"""Words, n-grams, inflection: what is known of captions as text."""
