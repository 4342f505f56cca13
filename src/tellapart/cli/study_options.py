"""What all commands of `study` take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(help="A study's folder.")]
DatabaseUrl = Annotated[
    str, typer.Option("--database", help="postgresql://USER@HOST/NAME (default: SQLite in FOLDER).")
]
