"""Recipes: for each system, settings by name; what a recipe does not say is the default."""
