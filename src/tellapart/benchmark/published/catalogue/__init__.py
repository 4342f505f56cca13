"""The catalogue: published benchmarks that a layout in YAML describes completely.

Each file names the source that documents the layout, the licence, the citation and the chance
levels. The package's entry points refer to attributes of this module, so that a file is read only
when its benchmark is requested; `layouts` reads all of them.
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
    """The importer for the catalogue file with the attribute's name."""
    path = FOLDER / f"{name}.yaml"
    if not path.is_file():
        raise AttributeError(f"the catalogue has no {path.name}")
    return importer_of(read_layout(path))
