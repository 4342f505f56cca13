"""Small-scale papers: a paper's systems trained and tested on the built-in world.

Nothing is downloaded and no people are needed, so every table and figure can be made anywhere:
scenes are drawn, features are their colours, systems have a width of 64, and simulated people who
know the scenes replace real ones. The figures show that everything runs and what the output looks
like; they say nothing about photographs. Existing results are reused.
"""
