"""Pictures in the page: small, stored once, without what the files carry beside the pixels."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import PIL.Image

from tellapart.benchmark.benchmark import Benchmark, Card
from tellapart.items import Image
from tellapart.reports.gallery import LARGEST_PICTURE, Album, shrunk


def noise(width: int, height: int) -> PIL.Image.Image:
    values = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return PIL.Image.fromarray(values)


def benchmark(root: Path, *names: str) -> Benchmark:
    return Benchmark(Card("b"), root, (), {name: Image(name, name) for name in names})


def test_a_large_picture_is_made_to_fit():
    data, (width, height) = shrunk(noise(1600, 800), 6_000)
    assert len(data) <= 6_000
    assert width == 2 * height
    assert PIL.Image.open(io.BytesIO(data)).size == (width, height)


def test_the_same_pixels_are_stored_once(tmp_path):
    noise(40, 30).save(tmp_path / "a.png")
    noise(40, 30).save(tmp_path / "copy.bmp")
    album = Album(2, 2, 0)
    b = benchmark(tmp_path, "a.png", "copy.bmp")
    assert album.add(b, "a.png") == album.add(b, "copy.bmp") == album.add(b, "a.png")
    assert len(album.pictures) == 1


def test_metadata_stays_out(tmp_path):
    exif = PIL.Image.Exif()
    exif[0x010E] = "taken at home"
    noise(40, 30).save(tmp_path / "a.jpg", exif=exif)
    album = Album(1, 1, 0)
    album.add(benchmark(tmp_path, "a.jpg"), "a.jpg")
    data = base64.b64decode(album.pictures[0].partition(",")[2])
    assert b"taken at home" in (tmp_path / "a.jpg").read_bytes()
    assert b"taken at home" not in data


def test_missing_broken_and_unlisted_pictures_say_so(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n")
    album = Album(3, 3, 0)
    b = benchmark(tmp_path, "gone.png", "broken.png")
    assert "missing" in album.add(b, "gone.png").problem
    assert "broken" in album.add(b, "broken.png").problem
    assert "not listed" in album.add(b, "other").problem
    assert album.pictures == []


def test_much_text_leaves_less_room(tmp_path):
    noise(1200, 900).save(tmp_path / "a.png")
    roomy, tight = Album(300, 450, 0), Album(300, 450, 20_000_000)
    b = benchmark(tmp_path, "a.png")
    roomy.add(b, "a.png")
    tight.add(b, "a.png")
    assert len(tight.pictures[0]) < len(roomy.pictures[0]) <= 4 / 3 * LARGEST_PICTURE + 100
