"""BISON: a caption and two similar images, of which it describes one."""

from tellapart.mine.bison.building import build
from tellapart.mine.bison.options import BisonOptions

__all__ = ["BisonOptions", "build"]
