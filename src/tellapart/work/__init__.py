"""Long work in shards: planned from content, done by anyone, in any order, to the same bytes."""
