"""Studies with people: questions, task assignment, judgements and results."""
