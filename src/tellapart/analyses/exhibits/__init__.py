"""Papers as lists of exhibits: their figures and analyses, made again of what is there."""
