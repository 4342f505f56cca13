"""MCIC: an image and five captions, four of them cunning decoys from other images."""

from tellapart.mine.mcic.building import build
from tellapart.mine.mcic.options import McicOptions

__all__ = ["McicOptions", "build"]
