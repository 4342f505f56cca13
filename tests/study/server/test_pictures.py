"""Pictures of a study: attacked through requests, through its tables and through the files."""

from __future__ import annotations

import io
import json
import zlib

import pytest
from PIL import Image as Pillow
from tests.conftest import grid_item

from tellapart.benchmark.benchmark import Card, load_benchmark, make_benchmark
from tellapart.items import Image
from tellapart.study.folder import missing_pictures, write_study

SECRET = (1, 2, 3)


@pytest.fixture
def album(tmp_path):
    """Two pictures in a folder, and one outside it that nobody may see."""
    (tmp_path / "album").mkdir()
    for name in ("album/a.png", "album/b.png"):
        Pillow.new("RGB", (40, 30), (200, 100, 50)).save(tmp_path / name)
    Pillow.new("RGB", (40, 30), SECRET).save(tmp_path / "secret.png")
    return tmp_path / "album"


def first_picture(here, changed=lambda: None):
    """Ask for the pictures of the first task, after something was changed."""
    client = here.person()
    task = client.post("/api/next", json={}).json()["task"]
    changed()
    return [client.get(option["image"]) for option in task["options"] if option["image"]]


def one_pair(root, *uris):
    item = grid_item("n", 2, 1, {(0, 0)})
    images = [Image(name, uri) for name, uri in zip(item.images, uris, strict=True)]
    return make_benchmark(Card("pair"), root, [item], images)


def swap_for_a_link(album):
    (album / "a.png").unlink()
    (album / "a.png").symlink_to(album.parent / "secret.png")


def swap_the_folder_for_a_link(album):
    (album.parent / "other").mkdir()
    (album.parent / "secret.png").rename(album.parent / "other" / "a.png")
    album.rename(album.parent / "before")
    album.symlink_to(album.parent / "other")


def write_over_it(album):
    (album / "a.png").write_bytes((album.parent / "secret.png").read_bytes())


@pytest.mark.parametrize("change", [swap_for_a_link, swap_the_folder_for_a_link, write_over_it])
def test_what_takes_the_place_of_a_picture_later_is_not_shown(serve, album, change):
    here = serve(source=one_pair(album, "a.png", "b.png"))
    answers = first_picture(here, lambda: change(album))
    assert 404 in [answer.status_code for answer in answers]
    for answer in answers:
        assert answer.status_code == 404 or pixel(answer) != SECRET
        assert "secret" not in answer.text and str(album) not in answer.text


def pixel(answer):
    return Pillow.open(io.BytesIO(answer.content)).getpixel((5, 5))


def test_a_picture_that_comes_later_is_shown_and_its_absence_was_told(serve, album):
    here = serve(source=one_pair(album, "a.png", "later.png"))
    made = load_benchmark(here.study.folder / "items")
    assert missing_pictures(made) == 1
    answers = first_picture(here, lambda: (album / "b.png").rename(album / "later.png"))
    assert [answer.status_code for answer in answers] == [200, 200]


def test_pictures_that_would_expand_beyond_the_limit_are_refused(serve, album, monkeypatch):
    (album / "b.png").write_bytes(bomb(20_000, 20_000))
    assert (album / "b.png").stat().st_size < 200_000
    pair = one_pair(album, "a.png", "b.png")
    assert statuses(first_picture(serve(source=pair))) == [200, 404]
    monkeypatch.setattr("tellapart.pictures.MAX_PIXELS", 40 * 30 - 1)
    assert statuses(first_picture(serve(source=pair))) == [404, 404]


def statuses(answers):
    return sorted(answer.status_code for answer in answers)


def test_what_is_wrong_with_a_picture_is_told_to_the_owner_alone(serve, album, caplog):
    """Its name may say whether it is the target."""
    (album / "b.png").unlink()
    answers = first_picture(serve(source=one_pair(album, "a.png", "b.png")))
    refused = next(answer for answer in answers if answer.status_code == 404)
    assert refused.json()["error"]["what"] == "this picture cannot be shown"
    assert "n-i1" not in refused.text and "b.png" not in refused.text
    assert "n-i1 is missing" in caplog.text


def bomb(width, height):
    """A PNG of so many black pixels."""

    def chunk(kind, data):
        check = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + check

    size = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    packed = zlib.compress(bytes((width // 8 + 2) * height), 9)
    head = chunk(b"IHDR", size + bytes([1, 0, 0, 0, 0]))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", packed) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    "content",
    [b"", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", b"%PDF-1.4", b"\x89PNG"],
)
def test_what_is_no_picture_is_never_passed_on(serve, album, content):
    (album / "b.png").write_bytes(content)
    answers = first_picture(serve(source=one_pair(album, "a.png", "b.png")))
    assert statuses(answers) == [200, 404]
    for answer in answers:
        assert answer.headers["content-type"] in ("image/webp", "application/json")


def test_training_pictures_come_from_the_studys_folder_alone(serve, album, monkeypatch):
    """A study file from someone else may name any path."""

    def with_foreign_pictures(source, out, options):
        plan = write_study(source, out, options)
        entries = json.loads((out / "training.json").read_text())
        link = out / "training" / "link.png"
        link.symlink_to(album.parent / "secret.png")
        for entry in entries:
            entry["images"] = ["../secret.png", "training/link.png"][: len(entry["images"])]
        (out / "training.json").write_text(json.dumps(entries))
        return plan

    monkeypatch.setattr("tests.study.server.conftest.write_study", with_foreign_pictures)
    here = serve(source=one_pair(album, "a.png", "b.png"), training=True)
    answers = first_picture(here)
    assert [answer.status_code for answer in answers] == [404, 404]
    assert all("secret" not in answer.text for answer in answers)
