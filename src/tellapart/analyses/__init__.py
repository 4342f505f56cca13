"""Analyses of runs, studies and captions: what a paper says beyond its scores."""
