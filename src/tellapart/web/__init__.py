"""What pages of all sorts share: the card, its style and script, security headers, a server.

Reports put `static/palette.css`, `static/card.css` and `templates/cards.html` into their own file;
the servers of studies and of views give out everything in `static/` below `/shared`.
"""

from functools import cache
from importlib.resources import files


@cache
def shared_text(folder: str, name: str) -> str:
    """A file of `static` or `templates`."""
    return files("tellapart.web").joinpath(folder, name).read_text("utf-8")
