"""Shared code of all pages: the card, its style and script, security headers, a server.

Reports embed `static/palette.css`, `static/card.css` and `templates/cards.html` in their own file;
the servers of studies and views serve everything in `static/` under `/shared`.
"""

from functools import cache
from importlib.resources import files


@cache
def shared_text(folder: str, name: str) -> str:
    """The text of a file in `static` or `templates`."""
    return files("tellapart.web").joinpath(folder, name).read_text("utf-8")
