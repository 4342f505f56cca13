"""The verb `build`: one command a builder, each with its own options beside the shared ones."""
