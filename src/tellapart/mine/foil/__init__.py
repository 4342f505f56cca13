"""FOIL: captions with one wrong word, from pairs of category words (Shekhar et al. 2017)."""

from tellapart.mine.foil.building import build
from tellapart.mine.foil.options import FoilOptions

__all__ = ["FoilOptions", "build"]
