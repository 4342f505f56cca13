"""Small sources in each published format, written by hand."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from tellapart.benchmark.benchmark import Benchmark
from tellapart.benchmark.published.options import GetOptions
from tellapart.errors import TellapartError
from tellapart.verbs.benchmarks.get import get


class Desk:
    """Writes source files, gets benchmarks from them, and reads the errors."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, data: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = data if isinstance(data, str) else json.dumps(data)
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(text.encode()))
        else:
            path.write_text(text, encoding="utf-8")
        return path

    def picture(self, name: str, size: tuple[int, int] = (8, 6), colour: str = "red") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Pillow.new("RGB", size, colour).save(path)
        return path

    def get(self, source: str, /, *files: Path, **options: Any) -> Benchmark:
        number = len(list(self.folder.glob("out*")))
        return get(source, files, self.folder / f"out{number}", GetOptions(**options))

    def error(self, source: str, /, *files: Path, **options: Any) -> str:
        """The message of a get that must fail, the folder's path cut out of it."""
        with pytest.raises(TellapartError) as caught:
            self.get(source, *files, **options)
        return str(caught.value).replace(str(self.folder) + "/", "")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
