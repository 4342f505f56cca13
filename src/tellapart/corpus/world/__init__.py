"""A drawn storybook world: typed scenes, one renderer, one grammar, edits, and a known truth."""
