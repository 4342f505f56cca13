"""Verbs for runs: evaluate, import, measure, analyse, compare, report and view them."""
