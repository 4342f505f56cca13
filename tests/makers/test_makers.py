"""One contract for every maker of images, and what happens when one fails in the middle."""

from __future__ import annotations

import errno
import io
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from PIL import Image

from tellapart.errors import BadInput, DiskFull, TellapartError
from tellapart.items import Image as ImageRow
from tellapart.makers import candidates as folder_of_candidates
from tellapart.makers.candidates import IMAGES, make_candidates
from tellapart.makers.maker import ImageRequest, MakerFailed, PhotoEdit, load_maker
from tellapart.pictures import Picture
from tests.makers.servers import drawn, image_server
from tests.makers.tiny_diffusion import save_tiny_pipeline

CAPTIONS = ["A red dog.", "A blue cat.", "A red boat.", "A blue ball."]


def requests(folder: Path, captions=CAPTIONS) -> list[ImageRequest]:
    """Requests that every maker can serve: caption, seed, a photograph and what to do to it."""
    source = folder / "source.jpg"
    if not source.exists():
        Image.effect_mandelbrot((120, 72), (-2, -1, 1, 1), 40).convert("RGB").save(source)
    picture = Picture(ImageRow("source", source.name), folder)
    edit = PhotoEdit(mirror=True)
    return [
        ImageRequest(f"key-{k}", text, 100 + k, picture, edit) for k, text in enumerate(captions)
    ]


@contextmanager
def maker_of(name: str, folder: Path):
    with ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of diffusers about its own future
        text = name
        if name in ("http", "automatic1111"):
            _, url = stack.enter_context(image_server())
            query = "?size=16" if name == "http" else "?api=automatic1111&size=16"
            text = f"http:tiny@{url}/v1{query}"
        elif name == "folder":
            place = folder / "elsewhere"
            place.mkdir(exist_ok=True)
            for one in requests(folder):
                (place / f"{one.key}.png").write_bytes(drawn(one.caption, one.seed, 16))
            text = f"folder:{place}"
        elif name in TINY:
            ready = folder / name / "pipeline"
            place = ready if ready.exists() else save_tiny_pipeline(folder / name, TINY[name])
            way = {"diffusers": "diffusers:{}?", "instruct": "edit:{}?size=16&"}
            start = way.get(name, "edit:{}?way=inpaint&size=16&prompt=grass&").format(place)
            text = f"{start}steps=2&guidance=1.5"
        yield load_maker(text)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    return tmp_path_factory.mktemp("makers")


TINY = {
    "diffusers": "StableDiffusionPipeline",
    "instruct": "StableDiffusionInstructPix2PixPipeline",
    "inpaint": "StableDiffusionInpaintPipeline",
}
EVERY = ("world:", "http", "automatic1111", "folder", "photo:", *TINY)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / IMAGES).iterdir())}


@pytest.mark.parametrize("name", EVERY)
def test_every_maker_keeps_the_contract(name, shared, tmp_path):
    with maker_of(name, shared) as maker, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = requests(shared)
        alone = [maker.make([one])[0] for one in wanted]
        # a second candidate of the same caption differs, the same request does not
        made = make_candidates(maker, wanted, tmp_path / "a")
        assert list(made.images) == [one.key for one in wanted] and not made.refused
        assert [files(tmp_path / "a")[Path(made.images[one.key].uri).name] for one in wanted] == [
            one.data for one in alone
        ]
        for one in alone:
            assert Image.open(io.BytesIO(one.data)).size[0] >= 16
        if name not in ("folder", "photo:", "inpaint"):  # these do not read the caption
            assert len({one.data for one in alone}) == len(alone)
            again = ImageRequest("key-9", wanted[0].caption, 999, wanted[0].source)
            assert maker.make([again])[0].data != alone[0].data
        assert maker.facts.name == load_maker(maker.facts.name).facts.name


@pytest.mark.parametrize("name", EVERY)
def test_killed_in_the_middle_ends_in_the_same_bytes(name, shared, tmp_path):
    class Killed(BaseException):
        pass

    with maker_of(name, shared) as maker, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = requests(shared)
        make_candidates(maker, wanted, tmp_path / "whole")
        maker.batch = 1
        real, calls = maker.make, []

        def dying(batch):
            if len(calls) == 2:
                raise Killed
            calls.append(batch)
            return real(batch)

        maker.make = dying
        with pytest.raises(Killed):
            make_candidates(maker, wanted, tmp_path / "killed")
        kept = files(tmp_path / "killed")
        assert len(kept) == 2  # only the one being made is lost
        maker.make = real
        make_candidates(maker, wanted, tmp_path / "killed")
        assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_a_server_that_goes_away_says_what_is_kept_and_goes_on(tmp_path):
    wanted = requests(tmp_path)
    with image_server(die_after=2) as (server, url):
        maker = load_maker(f"http:tiny@{url}/v1?size=16&retries=1&wait=0.01")
        with pytest.raises(MakerFailed) as error:
            make_candidates(maker, wanted, tmp_path / "a")
        assert "in 2 attempts" in str(error.value) and "2 of 4" in error.value.todo
        assert len(files(tmp_path / "a")) == 2
        server.die_after = 10**9
        make_candidates(maker, wanted, tmp_path / "a")
        make_candidates(maker, wanted, tmp_path / "b")
        assert files(tmp_path / "a") == files(tmp_path / "b")
        assert [one["seed"] for one in server.made[:4]] == [100, 101, 102, 103]


def test_a_refused_prompt_is_counted_and_not_asked_again(tmp_path):
    with image_server(refuse="cat") as (server, url):
        maker = load_maker(f"http:tiny@{url}/v1?size=16")
        made = make_candidates(maker, requests(tmp_path), tmp_path / "a")
        assert made.refused == {"key-1": "the server refused the prompt"}
        assert sorted(made.images) == ["key-0", "key-2", "key-3"]
        asked = len(server.made)
        again = make_candidates(maker, requests(tmp_path), tmp_path / "a")
        assert again == made and len(server.made) == asked


def test_a_full_disk_leaves_nothing_half_written(tmp_path, monkeypatch):
    maker, wanted = load_maker("world:"), requests(tmp_path)
    maker.batch = 1
    real = Path.write_bytes

    def full(path, data):
        if "key-2" in path.name:
            real(path, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, data)

    monkeypatch.setattr(folder_of_candidates.Path, "write_bytes", full)
    with pytest.raises(DiskFull):
        make_candidates(maker, wanted, tmp_path / "a")
    assert sorted(files(tmp_path / "a")) == ["key-0.png", "key-1.png"]
    monkeypatch.undo()
    make_candidates(maker, wanted, tmp_path / "a")
    make_candidates(maker, wanted, tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_an_empty_folder_gets_the_list_of_what_is_wanted(tmp_path):
    place = tmp_path / "elsewhere"
    place.mkdir()
    with pytest.raises(BadInput, match="none of the 4 pictures"):
        make_candidates(load_maker(f"folder:{place}"), requests(tmp_path), tmp_path / "a")
    listed = (place / "wanted.csv").read_text().splitlines()
    assert listed[0] == "key,caption,seed" and listed[1] == "key-0,A red dog.,100"


def test_a_caption_that_is_not_of_the_world_is_refused(tmp_path):
    made = make_candidates(
        load_maker("world:"), requests(tmp_path, ["Quantum soup."]), tmp_path / "a"
    )
    assert made.refused == {"key-0": "not a caption of the built-in world"}


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("world:?look=baroque", "look=baroque"),
        ("world:?error=2", "error=2"),
        ("http:tiny", "does not name a model and a server"),
        ("folder:/nowhere/at/all", "the folder .* does not exist"),
        ("fotos:", "no maker called 'fotos'"),
        ("photo:?quality=3", "quality=3"),
        ("diffusers:/nowhere/at/all", "cannot be loaded"),
    ],
)
def test_a_wrong_maker_is_an_error_that_says_so(name, says):
    with pytest.raises(TellapartError, match=says):
        load_maker(name)


def test_both_pictures_of_a_pair_are_encoded_alike(tmp_path):
    maker = load_maker("photo:")
    source = requests(tmp_path)[0].source
    made = [
        maker.make([ImageRequest("k", "", 0, source, PhotoEdit(mirror=mirror))])[0]
        for mirror in (False, True)
    ]
    plain, mirrored = (Image.open(io.BytesIO(one.data)) for one in made)
    assert plain.size == mirrored.size == (112, 64)  # whole blocks
    assert plain.quantization == mirrored.quantization
