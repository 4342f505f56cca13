"""Recipes: named settings for each system; missing settings have their defaults."""
