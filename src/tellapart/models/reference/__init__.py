"""Caption metrics as models."""
