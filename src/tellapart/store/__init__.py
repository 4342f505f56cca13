"""The cache on disk: scores, parses, arrays and downloads, under one size limit."""
