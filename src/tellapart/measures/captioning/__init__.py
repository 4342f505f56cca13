"""Captions that systems wrote, judged against references: the verb `captions`."""
