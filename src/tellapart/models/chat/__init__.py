"""Chat models behind an OpenAI-compatible endpoint."""
