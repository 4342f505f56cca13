"""Addresses of object stores and web servers, and the place of each on this disk.

`s3://bucket/bench` has the place `<cache>/addresses/s3/bucket/bench`, and the other way round: so a
path says itself what it stands for, in every process, and relative paths between two places are
relative paths between two addresses. Nothing is fetched or sent here (see `remote.py`).
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path

from tellapart.options import default_cache

SCHEMES = ("s3", "gs", "az", "abfs", "hf", "http", "https")
FORM = re.compile(rf"({'|'.join(SCHEMES)})://([^/].*)", re.DOTALL)
PATH_FORM = re.compile(rf"({'|'.join(SCHEMES)}):/([^/].*)", re.DOTALL)
"""An address as a text, and as a `Path`, which keeps one slash of two."""

HOME = "addresses"


def address_in(value: object) -> str | None:
    """The address that a text or a path is; None for any other.

    >>> address_in(Path("s3://bucket/bench/")), address_in("runs/s3"), address_in("hf:/my/model")
    ('s3://bucket/bench', None, None)
    """
    if not isinstance(value, str | os.PathLike):
        return None
    form = FORM if isinstance(value, str) else PATH_FORM
    match = form.fullmatch(os.fspath(value))
    if match is None:
        return None
    rest = posixpath.normpath(match[2])
    return None if rest.startswith("..") else f"{match[1]}://{rest}"


def home() -> Path:
    """The folder that all places lie in."""
    return Path(os.path.abspath(default_cache() / HOME))  # noqa: PTH100 (links stay as they are)


def place_of(address: str) -> Path:
    """Where an address lies on this disk."""
    scheme, _, rest = address.partition("://")
    return home() / scheme / rest


def address_of(path: Path) -> str | None:
    """The address whose place a path is; None for a path that is only itself."""
    # os.path, as this is asked for every picture: twice as fast as Path.
    absolute, start = os.path.abspath(path), f"{home()}{os.sep}"  # noqa: PTH100
    if not absolute.startswith(start):
        return None
    scheme, _, rest = absolute[len(start) :].replace(os.sep, "/").partition("/")
    return f"{scheme}://{rest}" if rest and scheme in SCHEMES else None


def from_here(target: Path, folder: Path) -> str:
    """How files of a folder name something: relative, unless one is on this disk and one is not."""
    there, here = address_of(target), address_of(folder)
    if _store(there) == _store(here):
        return Path(os.path.relpath(target, folder)).as_posix()
    return there or Path(target).absolute().as_posix()


def from_there(name: str, folder: Path) -> Path:
    """What a file of a folder names."""
    address = address_in(name)
    return place_of(address) if address is not None else folder / name


def _store(address: str | None) -> str:
    """The scheme and the bucket or host, beyond which no relative path leads."""
    return "/".join(address.split("/")[:3]) if address is not None else ""


def shown(text: str) -> str:
    """A text with addresses instead of their places, for people."""
    if HOME not in text:
        return text
    start = re.escape(f"{home()}{os.sep}")
    return re.sub(rf"{start}({'|'.join(SCHEMES)})/", r"\1://", text)
