"""What annotators' pages call, over HTTP, on both databases where it matters."""

from __future__ import annotations

import io
import os
import signal
import threading

from PIL import Image as Pillow
from tests.study.crowd import check_books, rows
from tests.study.server.conftest import ITEMS, Running, free_port, server_process, serving

from tellapart.study.folder import StudySetup, write_study
from tellapart.study.people import invite
from tellapart.study.plan import Stage
from tellapart.study.store import schema as t
from tellapart.study.study import opened_study


def go(client, most=1000):
    """Answer with the first option until nothing is left; returns the numbers answered."""
    state, answered = client.post("/api/next", json={}).json(), []
    while state["state"] == "work" and len(answered) < most:
        number = state["task"]["number"]
        value = state["task"]["options"][0]["value"]
        reply = client.post("/api/answers", json={"number": number, "value": value})
        assert reply.status_code == 200, reply.text
        answered.append(number)
        state = reply.json()
    return answered


def test_a_whole_study_over_http(serve, database):
    here = serve(database=database)
    first, second = here.person(), here.person()
    assert len(go(first)) == len(go(second)) == ITEMS
    assert first.post("/api/next", json={}).json()["state"] == "done"
    status = here.owner().get("/api/owner/status").json()
    assert status["stages"][0]["given"] == 2 * ITEMS and status["stages"][0]["closed"] == ITEMS
    check_books(here.study)


def test_consent_comes_first(serve):
    here = serve()
    client = here.person(consent=False)
    about = client.get("/api/me").json()
    assert not about["person"]["consented"] and "voluntary" in about["study"]["consent"]
    assert client.post("/api/next", json={}).json()["state"] == "consent"
    assert client.post("/api/answers", json={"number": 1, "value": "1"}).status_code == 401
    assert client.post("/api/consent", json={"agree": False}).json()["state"] == "consent"
    assert client.post("/api/consent", json={"agree": True}).json()["state"] == "work"
    assert client.get("/api/me").json()["person"]["consented"]


def test_the_next_task_is_there_ahead_and_comes_as_it_was_shown(serve):
    client = serve().person()
    state = client.post("/api/next", json={}).json()
    assert state["task"] and state["ahead"] and state["back"] is None
    assert client.post("/api/next", json={}).json() == state
    answer = {"number": state["task"]["number"], "value": "both", "milliseconds": 10}
    after = client.post("/api/answers", json=answer).json()
    assert after["task"] == state["ahead"] and after["back"] == state["task"]["number"]
    assert client.post("/api/answers", json=answer).json()["task"] == after["task"]


def test_going_back_shows_the_answer_and_lets_it_be_corrected(serve):
    client = serve().person()
    number = client.post("/api/next", json={}).json()["task"]["number"]
    before = client.get(f"/api/tasks/{number}").json()
    assert before["answer"] is None and not before["may_revise"]
    client.post("/api/answers", json={"number": number, "value": "2"})
    seen = client.get(f"/api/tasks/{number}").json()
    assert seen["answer"] == {"value": "2", "word": None} and seen["may_revise"]
    other = {"number": number, "value": "1"}
    assert client.post("/api/answers", json=other).status_code == 409
    assert client.post("/api/answers", json={**other, "revise": True}).status_code == 200
    assert client.get(f"/api/tasks/{number}").json()["answer"]["value"] == "1"
    assert client.get("/api/tasks/99").status_code == 404


def test_the_wrong_word_is_pointed_at_in_a_second_step(serve):
    client = serve(Stage("ask", "foil", judgements=1)).person()
    task = client.post("/api/next", json={}).json()["task"]
    assert [option["value"] for option in task["options"]] == ["right", "wrong"]
    caption = next(one["text"] for one in task["shown"] if one["text"])
    assert "".join(piece["text"] for piece in task["word"]["pieces"]) == caption
    answer = {"number": task["number"], "value": "wrong"}
    assert client.post("/api/answers", json=answer).status_code == 422
    assert client.post("/api/answers", json={**answer, "word": 999}).status_code == 422
    assert client.post("/api/answers", json={**answer, "word": 1}).status_code == 200


def test_training_gives_feedback_and_nothing_else_does(serve):
    client = serve(training=True).person()
    state = client.post("/api/next", json={}).json()
    told = []
    for _ in range(5):
        answer = {"number": state["task"]["number"], "value": "1"}
        state = client.post("/api/answers", json=answer).json()
        told.append(state["feedback"])
    assert [bool(one) for one in told] == [True, True, False, False, False]
    assert all(one["explanation"] and one["value"] for one in told[:2])


def test_pictures_are_made_anew_and_carry_nothing_but_pixels(serve):
    here = serve()
    client = here.person()
    task = client.post("/api/next", json={}).json()["task"]
    for option in task["options"][:2]:
        answer = client.get(option["image"])
        assert answer.headers["content-type"] == "image/webp"
        assert "private" in answer.headers["cache-control"]
        picture = Pillow.open(io.BytesIO(answer.content))
        assert picture.size == (64, 48) and not picture.info.get("exif")
        assert b"tellapart-scene" not in answer.content
    assert client.get(task["options"][0]["image"]).content  # from the folder this time


def test_pausing_and_leaving(serve):
    here = serve()
    client = here.person()
    state = client.post("/api/next", json={}).json()
    assert client.post("/api/pause", json={}).json() == {"paused": True}
    assert sum(task.held for task in rows(here.study, t.task, role="item")) == 0
    assert client.post("/api/next", json={}).json()["task"] == state["task"]
    assert client.post("/api/leave", json={}).json() == {"left": True}
    assert client.post("/api/next", json={}).status_code == 401


def test_deleting_oneself_needs_the_word_and_leaves_nothing(serve):
    here = serve()
    client = here.person()
    go(client, 3)
    assert client.post("/api/delete-me", json={"confirm": "yes"}).status_code == 422
    assert client.post("/api/delete-me", json={"confirm": "delete"}).json() == {"deleted": True}
    assert client.get("/api/me").status_code == 401
    assert not rows(here.study, t.judgement) and not rows(here.study, t.person)
    check_books(here.study)


def test_prolific_brings_people_and_gets_its_code(serve):
    stage = Stage("ask", "first-second-both", judgements=1, at_most=2)
    here = serve(stage, prolific="study123", places=1, completion_code="C0DE")
    client = here.client()
    ids = {
        "PROLIFIC_PID": "5f3c9a1b2c3d4e5f6a7b8c9d",
        "STUDY_ID": "study123",
        "SESSION_ID": "s" * 24,
    }
    assert client.get("/prolific", params=ids).status_code == 200
    assert client.post("/api/join/prolific", json=ids).json() == {"joined": True}
    client.post("/api/consent", json={"agree": True})
    assert len(go(client)) == 2
    ended = client.post("/api/next", json={}).json()
    assert ended["state"] == "done" and ended["completion_code"] == "C0DE"
    other = {**ids, "PROLIFIC_PID": "6f3c9a1b2c3d4e5f6a7b8c9d"}
    assert here.client().post("/api/join/prolific", json=other).status_code == 401
    assert serve().client().post("/api/join/prolific", json=ids).status_code == 401


def test_many_people_over_http_lose_and_double_nothing(serve, database):
    stage = Stage("ask", "first-second-both", judgements=3)
    here = serve(stage, database=database)
    clients = [here.person() for _ in range(6)]
    threads = [threading.Thread(target=go, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        go(client)
    assert len(rows(here.study, t.judgement)) == 3 * ITEMS
    check_books(here.study)


def test_who_was_at_work_when_the_server_was_killed_goes_on_with_the_same_tasks(tmp_path, pictured):
    """Many people on both databases are in tests/soak."""
    folder, port = tmp_path / "study", free_port()
    stage = Stage("ask", "first-second-both", judgements=2)
    write_study(pictured, folder, StudySetup((stage,), training=False))
    with opened_study(folder) as study:
        invited = study.database.submit(lambda conn: invite(conn, study, 2)).result()
    here = Running(study, f"http://127.0.0.1:{port}")
    client = here.client()
    with server_process(folder, port) as process:
        client.post("/api/join", json={"token": invited[0].token})
        client.post("/api/consent", json={"agree": True})
        answered = go(client, 9)
        before = client.post("/api/next", json={}).json()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with server_process(folder, port):
        after = client.post("/api/next", json={}).json()
        assert after["task"] == before["task"] and after["ahead"] == before["ahead"]
        answered += go(client)
        assert client.post("/api/next", json={}).json()["state"] == "done"
    with opened_study(folder) as study:
        assert len(rows(study, t.judgement)) == len(answered) == ITEMS
        check_books(study)
    here.close()


def test_two_servers_on_one_database_lose_and_double_nothing(tmp_path, pictured, postgres):
    folder, url = tmp_path / "study", postgres.database()
    stage = Stage("ask", "first-second-both", judgements=3)
    write_study(pictured, folder, StudySetup((stage,), training=False))
    with (
        opened_study(folder, url) as study,
        opened_study(folder, url) as again,
        serving(study) as one,
        serving(again) as other,
    ):
        clients = [here.person() for here in (one, other) for _ in range(3)]
        threads = [threading.Thread(target=go, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for client in clients:
            go(client)
        assert len(rows(study, t.judgement)) == 3 * ITEMS
        check_books(study)


def test_a_person_with_two_windows_open_is_given_each_task_once(serve, database):
    here = serve(Stage("ask", "first-second-both", judgements=1), database=database)
    (invited,) = here.invite()
    windows = [here.client() for _ in range(3)]
    for window in windows:
        window.post("/api/join", json={"token": invited.token})
    windows[0].post("/api/consent", json={"agree": True})
    answered: list[int] = []

    def work(window):
        state = window.post("/api/next", json={}).json()
        while state["state"] == "work":
            number = state["task"]["number"]
            reply = window.post("/api/answers", json={"number": number, "value": "1"})
            assert reply.status_code == 200, reply.text
            answered.append(number)
            state = reply.json()

    threads = [threading.Thread(target=work, args=(window,)) for window in windows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(answered) == set(range(1, ITEMS + 1))
    assert len(rows(here.study, t.judgement)) == ITEMS
    check_books(here.study)
