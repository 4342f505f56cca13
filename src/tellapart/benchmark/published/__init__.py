"""Published benchmarks, read from their authors' files: one importer per file."""
