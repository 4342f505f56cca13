"""What stands before the routes: each line of it is attacked."""

from __future__ import annotations

import json
import re

import pytest
from tests.study.crowd import rows

from tellapart.study.plan import Stage
from tellapart.study.server.guard import Rate, RateLimits
from tellapart.study.store import schema as t
from tellapart.web.gate import MAX_BODY


def test_every_answer_has_the_security_headers(serve):
    here = serve()
    client = here.person()
    for path in ("/", "/owner", "/static/annotator.js", "/api/me", "/api/none", "/none"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"


def test_pages_have_no_script_or_style_inside(serve):
    here = serve()
    for path in ("/", "/owner"):
        text = here.client().get(path).text
        assert not re.search(r"<script(?![^>]*src=)[^>]*>|<style|\son\w+=|style=", text)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Tellapart": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_of_other_sites_change_nothing(serve, headers):
    here = serve()
    client = here.person()
    refused = client.post("/api/next", json={}, headers=headers)
    assert refused.status_code == 403
    assert not rows(here.study, t.assignment) or refused.json()["error"]


def test_a_plain_form_of_another_site_cannot_post(serve):
    here = serve()
    client = here.client(cookies=here.person().cookies)
    del client.headers["X-Tellapart"]
    assert client.post("/api/delete-me", data={"confirm": "delete"}).status_code == 403
    assert client.post("/api/delete-me", content=b'{"confirm": "delete"}').status_code == 403
    assert len(rows(here.study, t.person)) == 1


def test_cookies_cannot_be_read_by_scripts_nor_sent_by_other_sites(serve):
    here = serve()
    (invited,) = here.invite()
    cookie = here.client().post("/api/join", json={"token": invited.token}).headers["set-cookie"]
    assert "HttpOnly" in cookie and "samesite=strict" in cookie.lower()
    assert invited.token not in cookie


def test_large_bodies_are_refused_with_and_without_their_length(serve):
    client = serve().person()
    large = b"x" * (MAX_BODY + 1)
    assert client.post("/api/next", content=large).status_code == 413

    def pieces():
        for _ in range(200):
            yield b" " * 1000

    assert client.post("/api/next", content=pieces()).status_code == 413


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"null", b"{", b'{"number": 1e400}', b"\xff\xfe", b"[" * 9000, b'{"a": 1}',
     b'{"number": "1", "value": "1"}', b'{"number": 0, "value": "1"}',
     b'{"number": 1, "value": 1}', b'{"number": 99999999999999999999, "value": "1"}',
     b'{"number": 1, "value": "1", "word": true}', b'{"number": 1, "value": "\\ud800"}'],
)  # fmt: skip
def test_bad_bodies_are_refused_in_words_and_not_repeated(serve_once, body):
    client = serve_once.person()
    answer = client.post("/api/answers", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["error"]["what"] and len(answer.content) < 500


@pytest.fixture(scope="module")
def serve_once(tmp_path_factory, pictured):
    from tests.study.server.conftest import serving

    from tellapart.study.folder import StudySetup, write_study
    from tellapart.study.study import opened_study

    folder = tmp_path_factory.mktemp("guard") / "study"
    write_study(pictured, folder, StudySetup((Stage("ask", "first-second-both"),)))
    with opened_study(folder) as study, serving(study) as running:
        yield running


OWNERS = ("status", "people", "items", "judgements.csv", "judgements.json", "judgements.parquet")


@pytest.mark.parametrize("path", OWNERS)
def test_the_owners_part_is_closed_to_annotators_and_strangers(serve_once, path):
    person = serve_once.person()
    assert person.get(f"/api/owner/{path}").status_code == 401
    session = person.cookies["tellapart"]
    forged = serve_once.client(cookies={"tellapart-owner": session})
    assert forged.get(f"/api/owner/{path}").status_code == 401
    (invited,) = serve_once.invite()
    stranger = serve_once.client(cookies={"tellapart-owner": invited.token})
    assert stranger.get(f"/api/owner/{path}").status_code == 401
    joined = serve_once.client().post("/api/owner/join", json={"token": invited.token})
    assert joined.status_code == 401


def test_the_owners_session_is_no_annotators(serve_once):
    owner = serve_once.owner()
    session = next(cookie.value for cookie in owner.cookies.jar)
    forged = serve_once.client(cookies={"tellapart": session})
    assert forged.get("/api/me").status_code == 401


def test_nobody_sees_pictures_or_tasks_of_others(serve):
    here = serve()
    one, other = here.person(), here.person()
    mine = one.post("/api/next", json={}).json()["task"]["options"][0]["image"]
    other.post("/api/next", json={})
    assert one.get(mine).status_code == 200
    assert other.get(mine).status_code == 404
    assert here.client().get(mine).status_code == 401
    number, place, mark = mine.rpartition("/")[2].split("-")
    for address in (
        f"{number}-{int(place) + 1}-{mark}",
        f"9-{place}-{mark}",
        f"{number}-99-{mark}",
    ):
        assert one.get(f"/images/{address}").status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/images/../keys.json", "/images/..%2f..%2fkeys.json", "/static/../app.py",
     "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/keys.json",
     "/images/1-0-%2e%2e%2fkeys.json", "/static/....//app.py", "/study.sqlite"],
)  # fmt: skip
def test_no_path_leads_to_a_file_of_the_server(serve_once, path):
    client = serve_once.person()
    request = client.build_request("GET", serve_once.url)
    request.url = request.url.copy_with(raw_path=path.encode())
    answer = client.send(request)
    assert answer.status_code in (404, 422, 405)
    assert b"owner" not in answer.content and b"import" not in answer.content


def test_nothing_that_annotators_get_tells_the_truth_or_the_names_of_things(serve):
    stage = Stage("ask", "first-second-both", judgements=1, checks=0.3)
    here = serve(stage)
    client, told = here.person(), []
    state = client.post("/api/next", json={}).json()
    for _ in range(12):
        told.append(json.dumps(state))
        answer = {"number": state["task"]["number"], "value": "1"}
        reply = client.post("/api/answers", json=answer)
        told.append(reply.text + str(reply.headers))
        told.append(client.get(f"/api/tasks/{answer['number']}").text)
        state = reply.json()
    text = "".join(told)
    for item in here.study.content.items.items:
        assert item.id not in text and not any(f'"{image}"' in text for image in item.images)
    assert "truth" not in text and "check" not in text.replace("checks that you are reading", "")
    assert "is_right" not in text and '"role"' not in text


def test_errors_do_not_tell_where_things_lie(serve):
    here = serve()
    client = here.person()
    image = client.post("/api/next", json={}).json()["task"]["options"][0]["image"]
    root = here.study.content.items.root
    for row in here.study.content.items.images.values():
        assert (root / row.uri).exists()
    object.__setattr__(here.study.content.items, "root", root / "gone")
    answer = client.get(image)
    assert answer.status_code == 404 and str(root) not in answer.text


def test_guessing_links_becomes_slow_and_holds_up_nobody_at_work(serve):
    here = serve()
    here.limits.now = lambda: 0.0
    at_work, client = here.person(), here.client()
    codes = [client.post("/api/join", json={"token": f"{k:032}"}).status_code for k in range(40)]
    assert codes[0] == 401 and codes[-1] == 429
    assert int(client.post("/api/join", json={"token": "x" * 32}).headers["retry-after"]) >= 1
    forged = here.client(cookies={"tellapart": "x" * 32})
    assert forged.get("/api/me").status_code == 429
    assert at_work.get("/api/me").status_code == 200


def test_one_session_that_asks_too_fast_is_held_up_and_others_are_not(serve):
    here = serve()
    here.limits.now = lambda: 0.0
    one, other = here.person(), here.person()
    codes = [one.get("/static/study.css").status_code for _ in range(110)]
    assert codes[0] == 200 and codes[-1] == 429
    assert other.get("/api/me").status_code == 200


def test_permits_come_back_with_time():
    clock = [0.0]
    limits = RateLimits(now=lambda: clock[0])
    rate = Rate(2.0, 3.0)
    assert [limits.wait("a", rate) for _ in range(4)] == [0, 0, 0, 0.5]
    clock[0] += 0.5
    assert limits.wait("a", rate, take=False) == 0 == limits.wait("a", rate)
    assert limits.wait("a", rate) > 0
    assert limits.wait("b", rate) == 0
    clock[0] -= 100  # a clock that jumps back gives nothing away
    assert limits.wait("a", rate) > 0


def test_old_sessions_end_when_there_are_too_many(serve):
    here = serve()
    (invited,) = here.invite()
    clients = []
    for _ in range(10):
        client = here.client()
        assert client.post("/api/join", json={"token": invited.token}).status_code == 200
        here.study.clock.turn(1000)
        clients.append(client)
    alive = [client.get("/api/me").status_code for client in clients]
    assert alive == [401] * 2 + [200] * 8


def test_sessions_end_with_time(serve):
    here = serve()
    client = here.person()
    here.study.clock.turn(61 * 24 * 3_600_000)
    assert client.get("/api/me").status_code == 401


def test_nothing_secret_is_logged(serve, caplog, capfd):
    here = serve()
    (invited,) = here.invite()
    client = here.client()
    client.post("/api/join", json={"token": invited.token})
    client.get("/prolific", params={"PROLIFIC_PID": "5f3c9a1b2c3d4e5f6a7b8c9d"})
    told = caplog.text + "".join(capfd.readouterr())
    session = client.cookies["tellapart"]
    for secret in (invited.token, session, here.study.keys.owner, "5f3c9a1b2c3d4e5f6a7b8c9d"):
        assert secret not in told


def test_tokens_are_stored_only_as_hashes(serve):
    here = serve()
    (invited,) = here.invite()
    client = here.client()
    client.post("/api/join", json={"token": invited.token})
    stored = str([rows(here.study, table) for table in (t.person, t.session, t.event)])
    assert invited.token not in stored and client.cookies["tellapart"] not in stored
    assert len(invited.token) >= 32
