"""Downloads against a real server: whole, resumed, refused."""

from __future__ import annotations

import hashlib
import http.server
import threading
from dataclasses import replace

import pytest

from tellapart.benchmark.published import sugarcrepe
from tellapart.benchmark.published.download import DownloadFailed, PublishedFile, fetch
from tellapart.verbs.benchmarks.get import get

DATA = bytes(range(256)) * 4096


class Handler(http.server.BaseHTTPRequestHandler):
    """Gives out DATA at /data.bin, honours Range, and breaks off where it is told to."""

    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        if self.path not in server.files:
            self.send_error(404)
            return
        data = server.files[self.path]
        begin = 0
        if asked and server.ranges:
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(data):
                self.send_error(416)
                return
        self.send_response(206 if asked and server.ranges else 200)
        self.send_header("Content-Length", str(len(data) - begin))
        self.end_headers()
        end = server.breaks.pop() if server.breaks else len(data)
        self.wfile.write(data[begin:end])

    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("TELLAPART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.breaks, server.ranges = [], [], True
    server.files = {"/data.bin": DATA}
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def source(server, data: bytes = DATA, path: str = "data.bin") -> PublishedFile:
    return PublishedFile(f"{server.address}/{path}", hashlib.sha256(data).hexdigest())


def test_a_file_is_fetched_once(server, tmp_path):
    told = []
    path = fetch(source(server), lambda *args: told.append(args))
    assert path.read_bytes() == DATA and path.name == "data.bin"
    assert path.is_relative_to(tmp_path / "cache")
    assert told[-1] == ("data.bin", len(DATA), len(DATA))
    assert fetch(source(server)) == path and len(server.asked) == 1
    assert [p.name for p in path.parent.iterdir()] == ["data.bin"]


def test_an_interrupted_download_goes_on_where_it_stopped(server):
    server.breaks = [300_000]
    with pytest.raises(DownloadFailed) as caught:
        fetch(source(server))
    assert caught.value.what == (
        "the download of data.bin stopped after 300,000 of 1,048,576 bytes"
    )
    assert "run the command again" in caught.value.todo
    assert fetch(source(server)).read_bytes() == DATA
    assert server.asked == [None, "bytes=300000-"]


def test_a_server_that_cannot_go_on_sends_it_all_again(server):
    server.ranges, server.breaks = False, [1000]
    with pytest.raises(DownloadFailed, match="stopped after"):
        fetch(source(server))
    assert fetch(source(server)).read_bytes() == DATA


def test_a_partial_file_that_is_too_long_is_begun_anew(server, tmp_path):
    wanted = source(server)
    partial = tmp_path / "cache" / "downloads" / wanted.sha256[:16] / "data.bin.part"
    partial.parent.mkdir(parents=True)
    partial.write_bytes(DATA + b"more")
    assert fetch(wanted).read_bytes() == DATA
    assert server.asked == ["bytes=1048580-", None]


def test_another_file_than_the_published_one_is_refused(server, tmp_path):
    with pytest.raises(DownloadFailed) as caught:
        fetch(source(server, b"other"))
    message = str(caught.value)
    assert message.startswith("data.bin is not the file that was published before")
    assert hashlib.sha256(DATA).hexdigest() in message and "--from" in message
    assert not [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]


def test_a_file_that_was_changed_in_the_cache_is_fetched_again(server):
    path = fetch(source(server))
    path.write_bytes(b"broken")
    assert fetch(source(server)).read_bytes() == DATA


def test_a_file_that_is_gone(server):
    with pytest.raises(DownloadFailed) as caught:
        fetch(source(server, path="gone.json"))
    assert caught.value.what == "gone.json is no longer at its address"
    assert "404" in caught.value.where and "--from" in caught.value.todo


def test_no_network(server):
    wanted = source(server)
    server.shutdown()
    server.server_close()
    with pytest.raises(DownloadFailed, match=r"data\.bin cannot be downloaded") as caught:
        fetch(wanted)
    assert "check the network" in caught.value.todo


def test_get_downloads_what_it_knows_the_address_of(server, tmp_path, monkeypatch):
    data = b'{"0": {"filename": "1.jpg", "caption": "A dog.", "negative_caption": "A cat."}}'
    server.files["/add_att.json"] = data
    known = replace(sugarcrepe.IMPORTER, sources=(source(server, data, "add_att.json"),))
    monkeypatch.setattr(sugarcrepe, "IMPORTER", known)
    benchmark = get("sugarcrepe", out=tmp_path / "out")
    assert [item.id for item in benchmark.items] == ["sugarcrepe:add_att/0"]
    assert benchmark.card.made["files"][0]["as_published"] is True
