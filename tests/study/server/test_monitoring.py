"""Health, figures for Prometheus, and a backup that is restored."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from tests.study.server.conftest import ITEMS, serving
from tests.study.server.test_annotators import go
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.study.study import open_study

LINE = re.compile(r'(\w+)\{(\w+)="([^"]*)"\} (\d+)')


def figures(text: str) -> dict[tuple[str, str], int]:
    """Every sample by its name and label; comments must name what follows."""
    found = {}
    family = ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            family = line.split()[2]
        elif not line.startswith("# HELP "):
            name, _, label, value = LINE.fullmatch(line).groups()
            assert name == family
            found[name, label] = int(value)
    return found


def test_whoever_asks_is_told_that_the_server_is_well(serve):
    answer = serve().client().get("/health")
    assert answer.status_code == 200 and answer.json() == {"status": "ok"}


def test_figures_are_read_with_their_own_token_and_with_nothing_else(serve):
    here = serve()
    client = here.person()
    go(client, 5)
    told = CliRunner().invoke(app, ["study", "owner", str(here.study.folder), "--json"])
    token = json.loads(told.stdout)["metrics"]
    for wrong in ("", "Bearer", f"Bearer {here.study.keys.owner}", f"Basic {token}"):
        answer = client.get("/metrics", headers={"Authorization": wrong})
        assert answer.status_code == 401 and "tellapart_study" not in answer.text
    answer = client.get("/metrics", headers={"Authorization": f"Bearer {token}"})
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    known = figures(answer.text)
    assert known["tellapart_study_given", "ask"] == 5
    assert known["tellapart_study_items", "ask"] == ITEMS
    assert known["tellapart_study_people", "active"] == 1
    assert known["tellapart_study_requests_total", "401"] == 4
    assert here.client().post("/api/owner/join", json={"token": token}).status_code == 401


@pytest.fixture(params=["sqlite", "postgresql"])
def databases(request) -> tuple[str, str]:
    """The database of a study, and an empty one to restore it into; none for SQLite, a file."""
    if request.param == "sqlite":
        return "", ""
    server = request.getfixturevalue("postgres")
    if not (shutil.which("pg_dump") and shutil.which("pg_restore")):
        pytest.skip("pg_dump is not installed")
    return server.database(), server.database()


def back_up(folder: Path, database: str, copy: Path) -> None:
    """As docs/studies.md says: all but the database, then the database itself."""
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("study.sqlite*"))
    if database:
        dump = ["pg_dump", "--format", "custom", "--dbname", database]
        subprocess.run([*dump, "--file", copy / "study.dump"], check=True)
        return
    with (
        closing(sqlite3.connect(folder / "study.sqlite")) as live,
        closing(sqlite3.connect(copy / "study.sqlite")) as backup,
    ):
        live.backup(backup)


def test_a_backup_made_while_people_work_is_restored_and_they_go_on(serve, tmp_path, databases):
    database, empty = databases
    here = serve(database=database)
    client, owner = here.person(), here.owner()
    go(client, 5)
    copy = tmp_path / "restored"
    back_up(here.study.folder, database, copy)
    before = owner.get("/api/owner/judgements.json").json()
    go(client, 2)
    if empty:
        subprocess.run(["pg_restore", "--dbname", empty, copy / "study.dump"], check=True)
    study = open_study(copy, empty, here.study.clock)
    try:
        with serving(study) as again:
            assert again.owner().get("/api/owner/judgements.json").json() == before
            person = again.client(cookies=client.cookies)
            assert len(go(person)) == ITEMS - len({row["item"] for row in before})
    finally:
        study.close()
