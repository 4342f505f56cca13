"""What the readers' tests share: a writer of small files, a picture, and how to catch an error."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tellapart.corpus.corpus import Corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.errors import TellapartError

Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write text, bytes or JSON under tmp_path, packed where the name ends in .gz."""

    def write(name: str, content: Any) -> Path:
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def jpeg() -> bytes:
    """A whole JPEG file of 8 x 6 red pixels."""
    file = io.BytesIO()
    Image.new("RGB", (8, 6), "red").save(file, "JPEG")
    return file.getvalue()


@pytest.fixture
def fails() -> Callable[..., TellapartError]:
    """Read what cannot be read; the error."""

    def read(path: Path, format: str | None = None, **options: Any) -> TellapartError:
        with pytest.raises(TellapartError) as caught:
            read_corpus(path, ReadOptions(**options), format)
        return caught.value

    return read


@pytest.fixture
def texts() -> Callable[[Corpus], list[tuple[str, str, str]]]:
    """The captions of a corpus as rows."""
    return lambda corpus: corpus.captions.select("id", "image", "text").rows()
