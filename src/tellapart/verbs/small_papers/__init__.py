"""Papers in small: a paper's systems trained and tested on the built-in world.

Nothing is fetched and nobody is asked, so that every table and figure can be made anywhere: scenes
are drawn, features are their colours, systems have a width of 64, and in the place of people stands
someone who knows the scenes. The figures show that everything runs and what it looks like; they say
nothing about photographs. What is there already is not made again.
"""
