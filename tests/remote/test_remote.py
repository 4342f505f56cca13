"""Addresses instead of paths: an object store from end to end, with faults; reading the web."""

from __future__ import annotations

import functools
import http.server
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from tests.remote.object_store import ObjectStore
from typer.testing import CliRunner

import tellapart as ta
from tellapart import remote
from tellapart.addresses import address_of, from_here, from_there, place_of, shown
from tellapart.cli.main import app
from tellapart.errors import BadInput
from tellapart.files import write_text
from tellapart.remote import StoreGone

s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
pytest.importorskip("moto", reason="moto is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@pytest.fixture(scope="module")
def server() -> Iterator[ObjectStore]:
    store = ObjectStore()
    yield store
    store.end()


@pytest.fixture
def store(
    server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ObjectStore]:
    """An empty bucket, and a machine that has never seen it."""
    for name, value in {
        "AWS_ENDPOINT_URL": server.url, "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
        "TELLAPART_PATIENCE": "60", "AWS_MAX_ATTEMPTS": "1",
        "TELLAPART_CACHE": str(tmp_path / "cache"),
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    server.back()
    s3fs.S3FileSystem.clear_instance_cache()
    bucket = s3fs.S3FileSystem()
    if bucket.exists("lab"):
        bucket.rm("lab", recursive=True)
    bucket.mkdir("lab")
    server.puts.clear()
    yield server
    server.back()
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.fixture
def impatient(store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a store that goes away; else a busy machine would look like such a store."""
    monkeypatch.setenv("TELLAPART_PATIENCE", "0")


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on at another machine: nothing of the first one's disk is there."""
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "other-cache"))


def keys() -> dict[str, bytes]:
    """What is in the bucket, without timings."""
    bucket = s3fs.S3FileSystem()
    bucket.invalidate_cache()
    names = [name for name in bucket.find("lab") if not name.endswith("timings.json")]
    return {name.removeprefix("lab/"): bucket.cat_file(name) for name in names}


def files_in(folder: Path) -> dict[str, bytes]:
    every = (path for path in folder.rglob("*") if path.is_file())
    kept = (path for path in every if path.name != "timings.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept}


def run(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def whole_way(root: str) -> None:
    """Corpus, build, evaluate, measure and report below a folder or an address."""
    run("world", f"{root}/world", "--scenes", "20", "--seed", "3")
    run("build", "bison", f"{root}/world", f"{root}/bison", "--verifier", "oracle", "--seed", "1")
    run(
        "evaluate",
        "oracle",
        "chance",
        "storybook",
        "--on",
        f"{root}/bison",
        "--out",
        f"{root}/runs",
    )
    run("report", f"{root}/runs", "--out", f"{root}/report.html")


def test_the_whole_way_through_a_bucket_leaves_the_bytes_of_a_folder(store, tmp_path):
    import_module("onnxruntime")  # cards name what is loaded, which the first way would change
    whole_way(str(tmp_path / "here"))
    whole_way("s3://lab")
    there, here = keys(), files_in(tmp_path / "here")
    assert there.keys() == here.keys() and "world/images/000000.png" in there
    assert {name for name in here if here[name] != there[name]} == set()
    one = run("measure", f"{tmp_path}/here/runs", "--no-guessable", "--json")
    assert json.loads(run("measure", "s3://lab/runs", "--no-guessable", "--json")) == json.loads(
        one
    )


def test_another_machine_reads_what_one_wrote_and_cards_come_last(store, tmp_path, monkeypatch):
    corpus = ta.world("s3://lab/world", scenes=12, seed=3)
    assert store.puts[-1] == "/lab/world/corpus.json"
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "other"))
    built = ta.build(
        "bison", "s3://lab/world", "s3://lab/bison", ta.BuildOptions(verifier="oracle")
    )
    (made,) = ta.evaluate("oracle", on="s3://lab/bison", out="s3://lab/runs")
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "third"))
    assert len(ta.read_corpus("s3://lab/world")) == len(corpus)
    again = ta.load_run("s3://lab/runs/bison/oracle")
    assert again.benchmark.sha256 == built.sha256 and again.scores.equals(made.scores)
    picture = again.benchmark.picture(next(iter(again.benchmark.images)))
    assert picture.open().size and not picture.path.exists(), "pictures are read where they are"
    assert picture.place.startswith("s3://lab/world/images/")


MORE = [pytest.param(puts, marks=pytest.mark.campaign) for puts in (0, 5, 13, 15)]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("puts", [1, 14, *MORE])
def test_a_store_that_goes_away_while_a_corpus_is_sent_has_all_of_it_or_no_card(store, puts):
    store.fail_after(puts)
    with pytest.raises(StoreGone, match="does not answer") as caught:
        ta.world("s3://lab/world", scenes=12, seed=3)
    assert store.hung_up and "tellapart work send s3://lab/world" in caught.value.todo
    store.back()
    assert "world/corpus.json" not in keys()
    with pytest.raises(BadInput):
        ta.build("foil", "s3://lab/nothing", "s3://lab/foil")
    sent = run("work", "send")
    assert "s3://lab/world" in sent
    ta.world("s3://lab/again", scenes=12, seed=3)
    whole = keys()
    first = {name[6:]: data for name, data in whole.items() if name.startswith("world/")}
    assert first == {name[6:]: data for name, data in whole.items() if name.startswith("again/")}
    assert "corpus.json" in first and ".sending" not in first


@pytest.mark.usefixtures("impatient")
def test_what_another_machine_left_half_sent_is_not_there_and_not_in_the_way(
    store, tmp_path, monkeypatch
):
    store.fail_after(5)
    with pytest.raises(StoreGone):
        ta.world("s3://lab/world", scenes=12, seed=3)
    store.back()
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "other"))
    with pytest.raises(BadInput):
        ta.read_corpus("s3://lab/world")
    corpus = ta.world("s3://lab/world", scenes=12, seed=3)
    assert len(corpus) == 12 and "world/corpus.json" in keys() and "world/.sending" not in keys()
    with pytest.raises(BadInput, match="s3://lab/world already exists"):
        ta.world("s3://lab/world", scenes=12, seed=3)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "puts", [1, *(pytest.param(puts, marks=pytest.mark.campaign) for puts in (0, 3))]
)
def test_an_evaluation_goes_on_when_the_store_is_back_and_asks_no_model_twice(
    store, benchmarks, tmp_path, monkeypatch, puts
):
    options = ta.EvaluateOptions(use_cache=False, batch_size=8)
    ta.evaluate("storybook", on=benchmarks["bison"], out=tmp_path / "runs", options=options)
    store.fail_after(puts)
    with pytest.raises(StoreGone):
        ta.evaluate("storybook", on=benchmarks["bison"], out="s3://lab/runs", options=options)
    assert "runs/bison/storybook/run.json" not in _quiet_keys(store)
    monkeypatch.setattr("tellapart.score.engine.run_tasks", lambda *given: pytest.fail("asked"))
    (made,) = ta.evaluate("storybook", on=benchmarks["bison"], out="s3://lab/runs", options=options)
    assert made.size == len(benchmarks["bison"])
    there = {name[5:]: data for name, data in keys().items()}
    here = files_in(tmp_path / "runs")
    name = "bison/storybook/scores.parquet"
    assert there[name] == here[name] and there.keys() == here.keys()


def _quiet_keys(store: ObjectStore) -> dict[str, bytes]:
    store.back()
    return keys()


def test_a_store_that_comes_back_soon_enough_is_waited_for(store):
    store.fail_after(4)

    def come_back() -> None:
        while not store.hung_up:
            time.sleep(0.05)
        time.sleep(1)
        store.back()

    back = threading.Thread(target=come_back)
    back.start()
    corpus = ta.world("s3://lab/world", scenes=12, seed=3)
    back.join()
    assert store.hung_up and len(corpus) == 12 and "world/corpus.json" in keys()


@pytest.mark.usefixtures("impatient")
def test_a_store_that_goes_away_while_pictures_are_read_ends_in_a_clear_error(store, tmp_path):
    ta.world("s3://lab/world", scenes=12, seed=3)
    bison = ta.build("bison", "s3://lab/world", tmp_path / "bison", ta.BuildOptions(look=False))
    assert bison.images.frame["uri"][0].startswith("s3://lab/world/images/")
    store.down = True
    with pytest.raises(StoreGone, match="does not answer"):
        ta.evaluate("storybook", on=bison, out=tmp_path / "runs")
    store.back()
    (made,) = ta.evaluate("storybook", on=bison, out=tmp_path / "runs")
    assert made.tally.failed == 0 and made.size == len(bison)


def test_what_changed_in_the_store_is_fetched_again_and_what_went_is_gone(store):
    write_text(place_of("s3://lab/notes/a.txt"), "one")
    bucket = s3fs.S3FileSystem()
    bucket.pipe_file("lab/notes/a.txt", b"two")
    bucket.pipe_file("lab/notes/b.txt", b"more")
    folder = place_of("s3://lab/notes")
    remote.fetch(folder)
    assert files_in(folder) == {"a.txt": b"two", "b.txt": b"more"}
    bucket.rm("lab/notes/b.txt")
    remote.fetch(folder)
    assert files_in(folder) == {"a.txt": b"two"}


def test_overwriting_leaves_nothing_of_what_was_there(store):
    ta.world("s3://lab/world", scenes=6, seed=3)
    ta.world("s3://lab/world", scenes=3, seed=3, overwrite=True)
    assert len([name for name in keys() if name.endswith(".png")]) == 3
    assert len(ta.read_corpus("s3://lab/world")) == 3


def test_a_bucket_that_does_not_exist_and_one_that_is_closed_are_named(store, monkeypatch):
    with pytest.raises(BadInput, match="nowhere"):
        ta.world("s3://nowhere/world", scenes=2, seed=3)
    with pytest.raises(BadInput, match="read from, not written to"):
        ta.world("http://127.0.0.1:9/world", scenes=2, seed=3)


def test_pictures_are_found_in_a_folder_at_an_address(store, world, tmp_path):
    bucket = s3fs.S3FileSystem()
    for number in range(3):
        picture = (world.root / world.images["uri"][number]).read_bytes()
        bucket.pipe_file(f"lab/photos/deep/{number}.png", picture)
        bucket.pipe_file(f"lab/photos/deep/{number}.txt", b"A picture.")
    corpus = ta.read_corpus("s3://lab/photos")
    assert [one.is_there() for one in corpus] == [True] * 3 and next(iter(corpus)).open().size
    images = [{"id": n, "file_name": f"{n}.png"} for n in range(3)]
    captions = [{"id": n, "image_id": n, "caption": "A cat."} for n in range(3)]
    listed = {"images": images, "annotations": captions}
    (tmp_path / "captions.json").write_text(json.dumps(listed))
    options = ta.ReadOptions(images=Path("s3://lab/photos"))
    coco = ta.read_corpus(tmp_path / "captions.json", options)
    assert [one.is_there() for one in coco] == [True] * 3


def test_a_process_that_is_killed_before_it_sends_leaves_that_to_the_next_command(
    store, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setattr(remote, "_send_now", lambda *given: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            ta.world("s3://lab/world", scenes=3, seed=3)
    assert keys() == {}
    assert len(ta.read_corpus("s3://lab/world")) == 3 and "world/corpus.json" in keys()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """A web server that lists nothing, and the folder that it serves."""
    monkeypatch.setenv("TELLAPART_PATIENCE", "0")
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(_Quiet, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", folder
    server.shutdown()
    server.server_close()


def test_a_benchmark_is_read_from_the_web_with_its_pictures(web, tmp_path):
    address, folder = web
    corpus = ta.world(folder / "world", scenes=30, seed=3)
    made = ta.build("bison", corpus, folder / "bison", ta.BuildOptions(verifier="oracle"))
    (here,) = ta.evaluate("storybook", on=made, out=tmp_path / "here")
    (there,) = ta.evaluate("storybook", on=f"{address}/bison", out=tmp_path / "there")
    assert there.scores.equals(here.scores) and there.tally.failed == 0
    again = ta.load_run(tmp_path / "there" / "bison" / "storybook")
    assert again.benchmark.sha256 == made.sha256


def test_web_addresses_that_somebody_wrote_into_a_table_are_not_followed(web, tmp_path):
    address, folder = web
    ta.world(folder / "world", scenes=6, seed=3)
    rows = f"image,caption\n{address}/world/images/000000.png,A dog.\n"
    (tmp_path / "table.csv").write_text(rows)
    picture = next(iter(ta.read_corpus(tmp_path / "table.csv")))
    assert not picture.is_there()
    with pytest.raises(BadInput, match="not on this machine"):
        picture.read()


def test_addresses_and_places_lead_to_each_other(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path))
    place = place_of("s3://lab/a/b")
    assert address_of(place) == "s3://lab/a/b" and address_of(tmp_path / "a") is None
    assert from_here(place_of("s3://lab/c"), place) == "../../c"
    assert from_here(place_of("s3://other/c"), place) == "s3://other/c"
    assert from_here(tmp_path / "local", place) == (tmp_path / "local").as_posix()
    assert from_there("s3://other/c", place) == place_of("s3://other/c")
    assert from_there("../x", place) == place / "../x"
    assert shown(f"-> {place}") == "-> s3://lab/a/b"


def test_without_an_address_nothing_of_it_is_imported(tmp_path):
    code = (
        "import sys, tellapart as ta; ta.world(sys.argv[1], scenes=2);"
        "print([m for m in ('fsspec', 's3fs', 'aiohttp', 'botocore') if m in sys.modules])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "w")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == "[]"
