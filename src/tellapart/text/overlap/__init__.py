"""N-gram overlap between captions and references: BLEU, CIDEr, ROUGE-L, fast and exact."""
