"""A drawn storybook world: typed scenes, a renderer, a grammar, edits, and known truth."""
