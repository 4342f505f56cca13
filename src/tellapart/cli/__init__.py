"""The command line: verbs that read as a sentence. Nothing imports this package."""
