"""Papers as lists of exhibits: their figures and analyses, remade from our own results."""
