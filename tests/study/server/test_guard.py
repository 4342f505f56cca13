"""What stands before the routes: each line of it is attacked."""

from __future__ import annotations

import json
import re

import pytest
from tests.study.crowd import rows

from tellapart.study.plan import Stage
from tellapart.study.server.guard import RateLimits
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


GUESSES = 60


def guess(client, k):
    """A link that nobody has, with a cookie that nobody has."""
    return client.post(
        "/api/join", json={"token": f"{k:032}"}, headers={"Cookie": f"tellapart={k:032}"}
    )


def stop_time(here):
    here.limits.now = lambda: 0.0


@pytest.mark.parametrize("path", ["/api/me", "/images/1-0-x", "/api/owner/status"])
def test_guessing_is_limited_whatever_cookie_it_brings(serve, path):
    here = serve()
    stop_time(here)
    client, codes = here.client(), []
    for k in range(GUESSES):
        cookies = f"tellapart=a{k:032}; tellapart-owner=a{k:032}"
        client.get("/", headers={"Cookie": cookies})  # what opens nothing makes nobody known
        codes.append(client.get(path, headers={"Cookie": cookies}).status_code)
        codes.append(guess(client, k).status_code)
    assert codes.count(401) == 30 and set(codes[30:]) == {429}
    assert int(guess(client, 0).headers["retry-after"]) >= 1


def test_nobody_is_refused_for_what_others_guess_from_the_same_address(serve):
    here = serve()
    stop_time(here)
    at_work, (invited,) = here.person(), here.invite()
    for k in range(GUESSES):
        last = guess(here.client(), k)
    assert last.status_code == 429
    assert at_work.get("/api/me").status_code == 200
    newcomer = here.client()
    for path in ("/", "/owner", "/prolific", "/static/annotator.js"):
        assert newcomer.get(path).status_code == 200
    assert newcomer.post("/api/join", json={"token": invited.token}).status_code == 200
    assert newcomer.get("/api/me").status_code == 200
    assert here.owner().get("/api/owner/status").status_code == 200


def test_pages_and_static_files_are_never_refused(serve):
    here = serve()
    stop_time(here)
    client = here.client(cookies={"tellapart": "x" * 32})
    assert {client.get("/static/study.css").status_code for _ in range(150)} == {200}


def test_addresses_that_a_caller_makes_up_are_not_believed(serve):
    here = serve()
    stop_time(here)
    client, codes = here.client(), []
    for k in range(GUESSES):
        made_up = f"10.0.0.{k}"
        client.headers.update({"X-Forwarded-For": made_up, "Forwarded": f"for={made_up}"})
        codes.append(guess(client, k).status_code)
    assert codes[-1] == 429


def test_behind_a_proxy_the_address_is_what_its_header_ends_with(serve):
    here = serve(proxy="X-Forwarded-For")
    stop_time(here)
    client = here.client()

    def codes(*addresses):
        sent = [{"X-Forwarded-For": address} for address in addresses]
        client_codes = []
        for k, headers in enumerate(sent):
            client.headers.update(headers)
            client_codes.append(guess(client, k).status_code)
        return client_codes

    assert set(codes(*(f"10.0.0.{k}" for k in range(GUESSES)))) == {401}
    # what stands before the last comes from the caller
    assert codes(*(f"10.1.0.{k}, 10.0.9.9" for k in range(GUESSES)))[-1] == 429
    # a subscriber has a whole network of IPv6
    assert codes(*(f"2001:db8::{k}" for k in range(GUESSES)))[-1] == 429
    assert codes("2001:db8:0:1::1") == [401]


def test_one_session_that_asks_too_fast_is_held_up_and_others_are_not(serve):
    here = serve()
    stop_time(here)
    one, other = here.person(), here.person()
    codes = []
    for k in range(110):  # other cookies beside it make nobody another one
        cookies = f"a={k}; tellapart={one.cookies['tellapart']}; tellapart-owner={k}"
        codes.append(here.clients[0].get("/api/me", headers={"Cookie": cookies}).status_code)
    assert codes[0] == 200 and codes[-1] == 429
    assert other.get("/api/me").status_code == 200


def test_permits_come_back_with_time():
    clock = [0.0]
    limits = RateLimits(now=lambda: clock[0])
    assert [limits.fails("a") for _ in range(31)] == [0] * 30 + [2.0]
    clock[0] += 1
    assert limits.fails("a") == 1.0 and limits.fails("b") == 0
    clock[0] += 1
    assert limits.fails("a") == 0 and limits.fails("a") == 2.0
    clock[0] -= 100  # a clock that jumps back gives nothing away
    assert limits.fails("a") == 2.0
    clock[0] += 10_000
    assert [limits.fails("a") for _ in range(31)] == [0] * 30 + [2.0]


def test_callers_are_remembered_up_to_a_number(monkeypatch):
    monkeypatch.setattr("tellapart.study.server.guard.CALLERS", 2)
    limits = RateLimits(now=lambda: 0.0)
    assert [limits.fails("a") for _ in range(31)][-1] > 0
    limits.fails("b")
    assert limits.fails("a") > 0  # the one longest silent is forgotten, and that is b
    limits.fails("c")
    assert limits.fails("a") > 0


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


def test_the_owners_sessions_end_with_time(serve):
    here = serve()
    owner = here.owner()
    here.study.clock.turn(59 * 24 * 3_600_000)
    assert owner.get("/api/owner/status").status_code == 200
    here.study.clock.turn(2 * 24 * 3_600_000)
    assert owner.get("/api/owner/status").status_code == 401
    assert owner.post("/api/owner/invite", json={"people": 1}).status_code == 401


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
