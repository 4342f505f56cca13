"""Small n-gram language models."""
