"""Words for colours, and which of them people take for one another."""

from __future__ import annotations

CLOSE_COLOURS = {
    "red": "orange pink brown purple maroon",
    "orange": "red yellow brown gold golden tan",
    "yellow": "orange white green brown gold golden tan beige",
    "green": "blue yellow gray grey teal",
    "blue": "green purple gray grey black teal",
    "purple": "blue pink red maroon violet",
    "pink": "red purple white orange tan",
    "brown": "red orange black tan yellow gray grey gold golden beige maroon",
    "black": "gray grey brown blue dark",
    "white": "gray grey yellow tan pink silver beige cream light",
    "gray": "white black silver blue brown green tan grey beige",
    "tan": "brown white yellow gray grey orange beige gold golden pink",
    "silver": "gray grey white",
    "gold": "yellow orange brown golden tan",
    "maroon": "red brown purple",
}
"""Colours that different people name differently."""
SPELLINGS = {"grey": "gray", "golden": "gold", "beige": "tan"}
NEW_COLOURS = (
    "red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white", "gray",
)  # fmt: skip
"""Basic colours; only these replace another."""
