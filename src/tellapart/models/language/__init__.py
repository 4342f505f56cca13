"""Text-only models: how a sentence sounds, and writers of sentences."""
