"""What the owner's page calls."""

from __future__ import annotations

import io
import json

import polars as pl
from tests.study.server.conftest import ITEMS
from tests.study.server.test_annotators import go
from typer.testing import CliRunner

from tellapart.cli.main import app
from tellapart.study.export import JUDGEMENT_COLUMNS
from tellapart.study.keys import NAME, read_keys


def test_the_owner_sees_progress_people_and_items(serve):
    here = serve()
    client = here.person()
    go(client, 5)
    owner = here.owner()
    (stage,) = owner.get("/api/owner/status").json()["stages"]
    assert stage["given"] == 5 and stage["held"] == 2 and stage["wanted"] == 2 * ITEMS
    (person,) = owner.get("/api/owner/people").json()
    assert person["judgements"] == 5 and person["state"] == "active"
    page = owner.get("/api/owner/items", params={"stage": "ask", "state": "open"}).json()
    assert len(page["items"]) == ITEMS and page["after"] is None
    assert all("right" not in one for one in page["items"]), "only when it is asked for"
    told = owner.get("/api/owner/items", params={"truth": "true"}).json()["items"]
    assert all(len(one["right"]) == 1 for one in told)
    assert client.get("/api/owner/items", params={"truth": "true"}).status_code == 401
    assert owner.get("/api/owner/items", params={"stage": "none"}).status_code == 404


def test_links_that_the_owner_makes_open_the_study(serve):
    here = serve()
    made = here.owner().post("/api/owner/invite", json={"people": 2, "label": "lab"}).json()
    assert len(made) == 2 and made[0]["link"].startswith(f"{here.url}/#")
    token = made[0]["link"].partition("#")[2]
    assert here.client().post("/api/join", json={"token": token}).status_code == 200


def test_people_are_excluded_restored_revoked_and_deleted(serve):
    here = serve()
    client, owner = here.person(), here.owner()
    go(client, 4)
    code = owner.get("/api/owner/people").json()[0]["code"]
    path = f"/api/owner/people/{code}"
    assert owner.post(f"{path}/exclude", json={}).json()["state"] == "excluded"
    assert owner.get("/api/owner/status").json()["stages"][0]["given"] == 0
    assert client.post("/api/next", json={}).json()["state"] == "stopped"
    assert owner.post(f"{path}/restore", json={}).json()["state"] == "active"
    assert owner.get("/api/owner/status").json()["stages"][0]["given"] == 4
    assert client.post("/api/next", json={}).json()["state"] == "work"
    assert owner.post(f"{path}/revoke", json={}).json()["state"] == "revoked"
    assert client.post("/api/next", json={}).status_code == 401
    assert owner.post(f"{path}/delete", json={}).json() == {"deleted": True}
    assert owner.get("/api/owner/people").json() == []
    assert owner.post(f"{path}/exclude", json={}).status_code == 404


def test_an_item_is_opened_again(serve):
    here = serve()
    go(here.person())
    go(here.person())
    owner = here.owner()
    closed = owner.get("/api/owner/items", params={"state": "closed"}).json()["items"]
    again = owner.post(f"/api/owner/items/{closed[0]['task']}/reopen", json={}).json()
    assert again["state"] == "open" and again["wanted"] == 3
    assert len(go(here.person())) == 1


def test_judgements_come_in_three_forms_that_say_the_same(serve):
    here = serve()
    go(here.person(), 7)
    owner = here.owner()
    rows = owner.get("/api/owner/judgements.json").json()
    table = pl.read_parquet(io.BytesIO(owner.get("/api/owner/judgements.parquet").content))
    text = owner.get("/api/owner/judgements.csv")
    assert table.columns == list(JUDGEMENT_COLUMNS) and table.to_dicts() == rows and len(rows) == 7
    assert "judgements.csv" in text.headers["content-disposition"]
    plain = pl.read_csv(io.BytesIO(text.content))
    assert plain["item"].to_list() == table["item"].to_list()
    assert plain["order"].to_list() == [" ".join(map(str, row["order"])) for row in rows]


def test_the_owners_link_can_be_renewed_while_the_study_is_served(serve):
    here = serve()
    before, old = here.owner(), here.study.keys.owner
    assert before.get("/api/owner/status").status_code == 200
    done = CliRunner().invoke(app, ["study", "owner", str(here.study.folder), "--renew", "--json"])
    new = json.loads(done.output)["owner"].partition("#")[2]
    assert new != old and read_keys(here.study.folder).owner == new
    assert (here.study.folder / NAME).stat().st_mode & 0o777 == 0o600
    assert before.get("/api/owner/status").status_code == 401
    client = here.client()
    assert client.post("/api/owner/join", json={"token": old}).status_code == 401
    assert client.post("/api/owner/join", json={"token": new}).status_code == 200
    assert client.get("/api/owner/status").status_code == 200
