"""Java programs that come with the package pycocoevalcap: found here, or said what is missing."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from tellapart.errors import TellapartError


def java(wanted_by: str) -> str:
    """The path of the Java launcher: `JAVA_HOME`'s, else the first on the `PATH`."""
    home = os.environ.get("JAVA_HOME")
    found = (shutil.which("java", path=f"{home}/bin") if home else None) or shutil.which("java")
    if found is None:
        raise TellapartError(
            f"{wanted_by} is a Java program, and there is no Java on this machine",
            allowed="a Java runtime, version 8 or newer, on the PATH or under JAVA_HOME",
            todo="install one, for example with: apt install default-jre-headless",
        )
    return found


def program(wanted_by: str, *path: str) -> Path:
    """A file of pycocoevalcap; says how to get it where it is not there."""
    spec = find_spec("pycocoevalcap")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise TellapartError(
            f"{wanted_by} comes with the package 'pycocoevalcap', which is not installed",
            todo="pip install 'tellapart[captions]'",
        )
    found = Path(folders[0], *path)
    if not found.exists():
        raise TellapartError(
            f"{wanted_by} is not whole: {found.name} is missing",
            where=str(found),
            todo="install it again: pip install --force-reinstall pycocoevalcap",
        )
    return found
