"""The catalogue: published benchmarks of which a layout in YAML says all there is to say.

Each file names its source, which documents the layout, its licence, its citation and its chance
levels. The entry points of the package name them as attributes of this module, so that a file is
read when its benchmark is asked for; `layouts` are those of all.
"""

from __future__ import annotations

from pathlib import Path

from tellapart.benchmark.published.grids import importer_of
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.layout import Layout, read_layout

FOLDER = Path(__file__).parent


def layouts() -> dict[str, Layout]:
    """Every layout of the catalogue, by the name of its benchmark."""
    found = [read_layout(path) for path in sorted(FOLDER.glob("*.yaml"))]
    return {layout.name: layout for layout in found}


def __getattr__(name: str) -> Importer:
    """The importer of a file of the catalogue, whose name is the attribute's."""
    path = FOLDER / f"{name}.yaml"
    if not path.is_file():
        raise AttributeError(f"the catalogue has no {path.name}")
    return importer_of(read_layout(path))
