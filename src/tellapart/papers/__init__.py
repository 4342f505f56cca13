"""What papers published, and their tables with ours beside theirs."""
