"""Images with captions and hard negatives, as training data: read, batched, written."""
