"""Negatives by rules: word lists learnt from the corpus, and what each kind may do with them."""
