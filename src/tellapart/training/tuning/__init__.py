"""Fine-tuning of dual encoders: pairs with negatives, their files and batches, the task."""
