"""The command line of studies, as their owner uses it."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess

import httpx
import pytest
from tests.study.server.conftest import HEADERS, TELLAPART, free_port, wait_for
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.errors import TellapartError
from tellapart.study.folder import StudySetup, write_study
from tellapart.study.plan import Stage
from tellapart.web.host import ServerAddress, listen


@pytest.fixture
def folder(tmp_path, pictured):
    stages = (Stage("ask", "first-second-both", judgements=1),)
    write_study(pictured, tmp_path / "study", StudySetup(stages, training=False))
    return tmp_path / "study"


def study(*words):
    done = CliRunner().invoke(app, ["study", *map(str, words)])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output


def test_a_served_study_prints_the_owners_link_and_stops_when_told(folder):
    port = free_port()
    command = [TELLAPART, "study", "serve", str(folder), "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(f"http://127.0.0.1:{port}", process)
        (link,) = json.loads(study("invite", folder, "--json"))
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=HEADERS) as client:
            token = link["link"].partition("#")[2]
            assert client.post("/api/join", json={"token": token}).status_code == 200
            client.post("/api/consent", json={"agree": True})
            client.post("/api/answers", json={"number": 1, "value": "1"})
        assert "1 of 20 judgements" in study("status", folder)
    finally:
        process.send_signal(signal.SIGINT)
        said, warned = process.communicate(timeout=30)
    assert re.search(rf"http://127.0.0.1:{port}/owner#[\w-]{{32}}", said)
    assert "study invite" in said and "Traceback" not in warned and process.returncode == 0


def test_people_are_listed_and_changed(folder):
    codes = [row["person"] for row in json.loads(study("invite", folder, "--people", 2, "--json"))]
    study("person", folder, codes[0], "exclude")
    study("person", folder, codes[1], "delete")
    (row,) = json.loads(study("people", folder, "--json"))
    assert row["code"] == codes[0] and row["state"] == "excluded"
    assert "excluded" in study("people", folder)
    with pytest.raises(TellapartError, match="no person called"):
        study("person", folder, codes[1], "exclude")
    with pytest.raises(TellapartError, match="no change called 'exlude'"):
        study("person", folder, codes[0], "exlude")


def test_a_port_that_is_taken_is_named(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TellapartError, match=f"cannot listen on 127.0.0.1, port {port}"):
            study("serve", folder, "--port", port)


def test_who_serves_to_others_is_warned_without_https():
    assert not ServerAddress().open_to_others
    assert ServerAddress(host="0.0.0.0").open_to_others
    assert not ServerAddress(host="0.0.0.0", public_url="https://x.example").open_to_others


def test_the_owners_link_of_what_is_no_study_is_refused_as_elsewhere(tmp_path):
    with pytest.raises(TellapartError, match="is not a study"):
        study("owner", tmp_path)


def test_a_response_in_two_parts_does_not_wait_for_the_client_to_confirm_the_first():
    address = ServerAddress("127.0.0.1", 0)
    with listen(address) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
