"""Published benchmarks, read from the files that their authors release: one importer a file."""
