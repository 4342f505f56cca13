"""Attacks by strangers, annotators and the owner on a study, each with what must not happen.

An attack is a function that tries and returns what it found, "" for nothing. `house` is a study
with personal links, `door` one that is open to people from Prolific.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import httpx
from soak.victim import Victim, memory_of, open_files, patiently
from tests.study.server.load import SlowCrowd, Stubborn

STUDY_ID = "64a1b2c3d4e5f60718293a4b"
PLACES = 3
HOUR = 3_600_000
HEAD_SECONDS = 20.0
"""A request whose head takes longer than this must have been given up."""
MOST_HELD = 400
"""Files that the server may have open: connections, the database, pictures."""
OPENED = httpx.codes.OK


@dataclass(frozen=True, slots=True)
class Scene:
    """What is attacked, and how hard; `process` is the number of the house's server."""

    house: Victim
    door: Victim
    process: int
    guesses: int = 300
    slow: int = 1000
    people: int = 50


@dataclass(frozen=True, slots=True)
class Attack:
    """One thing that is tried, by whom."""

    who: str
    what: str
    attempt: Callable[[Scene], str]


def ids(person: int, study: str = STUDY_ID, session: int = 0) -> dict[str, str]:
    """What a link of Prolific would have."""
    return {
        "PROLIFIC_PID": f"{person:024x}",
        "STUDY_ID": study,
        "SESSION_ID": f"{session or person:024x}",
    }


def admitted(victim: Victim, **who: Any) -> httpx.Client | None:
    """A made-up person of Prolific, if they are let in."""
    client = victim.client()
    answer = client.post("/api/join/prolific", json=ids(**who))
    return client if answer.status_code == OPENED else None


def answer_all(client: httpx.Client, most: int = 1000, **more: Any) -> dict[str, Any]:
    """Always the first option; what the server says in the end."""
    state = patiently(lambda: client.post("/api/consent", json={"agree": True})).json()
    for _ in range(most):
        if state["state"] != "work":
            break
        answer = {"number": state["task"]["number"], "value": "1", **more}
        state = patiently(lambda sent=answer: client.post("/api/answers", json=sent)).json()
    return dict(state)


# As a stranger, by Prolific's links


def any_study(scene: Scene) -> str:
    """Come with the id of another study."""
    come = [admitted(scene.door, person=k, study="f" * 24) for k in range(1, 4)]
    return f"{len(come) - come.count(None)} of 3 came in" if any(come) else ""


def fill_up(scene: Scene) -> str:
    """Make people up until the study is full; page times are made up as well."""
    tries = 10 * PLACES
    come = [one for k in range(100, 100 + tries) if (one := admitted(scene.door, person=k))]
    for client in come[1:]:
        answer_all(client, most=1, milliseconds=HOUR)
    return f"{len(come)} of {tries} made-up people for {PLACES} places" * (len(come) > PLACES)


def code_for_nothing(scene: Scene) -> str:
    """Get the completion code without a judgement, or before the last one."""
    come = [one for k in range(100, 100 + PLACES) if (one := admitted(scene.door, person=k))]
    for client in come:  # they answered once, or never: others hold tasks
        state = patiently(lambda c=client: c.post("/api/consent", json={"agree": True})).json()
        if state["state"] != "done" and state["completion_code"]:
            return f"the code in the state {state['state']!r}"
    for client in come[1:]:
        answer_all(client)
    late = scene.door.person(scene.door.invite(1)[0])
    state = patiently(lambda: late.post("/api/next", json={})).json()
    if come:
        answer_all(come[0])
        state = patiently(lambda: late.post("/api/next", json={})).json()
    return "the code without any judgement" if state["completion_code"] else ""


def come_twice(scene: Scene) -> str:
    """Come again as another's id with a session of one's own."""
    first = next((k for k in range(100, 130) if admitted(scene.door, person=k)), None)
    if first is None:
        return ""
    again = admitted(scene.door, person=first, session=77)
    return "a second session of the same person came in" if again else ""


def lie_about_time(scene: Scene) -> str:
    """Say that every answer took an hour."""
    people = scene.door.owner().get("/api/owner/people").json()
    longest = max((one["median_milliseconds"] or 0 for one in people), default=0)
    return f"the owner is told of {longest / 1000:,.0f} s an answer" if longest >= HOUR else ""


# As a stranger


def guess(scene: Scene) -> str:
    """Try tokens, each with a session that was made up as well."""
    client, begun, through = scene.house.client(), time.monotonic(), 0
    for k in range(scene.guesses):
        cookies = {"Cookie": f"tellapart=a{k:031}"}
        client.get("/", headers=cookies)
        answer = client.post("/api/join", json={"token": f"{k:032}"}, headers=cookies)
        through += answer.status_code != httpx.codes.TOO_MANY_REQUESTS
    allowed = 35 + (time.monotonic() - begun)
    return f"{through} of {scene.guesses} guesses got through" if through > allowed else ""


def guess_from_elsewhere(scene: Scene) -> str:
    """Try tokens under addresses that are made up."""
    client, begun, through = scene.house.client(), time.monotonic(), 0
    for k in range(scene.guesses):
        sent = {"X-Forwarded-For": f"10.{k % 200}.0.{k // 200 + 1}"}
        answer = client.post("/api/join", json={"token": f"{k:032}"}, headers=sent)
        through += answer.status_code != httpx.codes.TOO_MANY_REQUESTS
    allowed = 35 + (time.monotonic() - begun)
    return f"{through} of {scene.guesses} guesses got through" if through > allowed else ""


def lock_out(scene: Scene) -> str:
    """Fail so often that others of the same address cannot come in."""
    token = scene.house.invite(1)[0]
    client = scene.house.client()
    for k in range(60):
        client.post("/api/join", json={"token": f"{k:032}"})
    shut = [path for path in ("/", "/static/study.css") if client.get(path).status_code != OPENED]
    if scene.house.client().post("/api/join", json={"token": token}).status_code != OPENED:
        shut.append("a valid link")
    return f"refused for others' failures: {', '.join(shut)}" if shut else ""


PATHS = (
    "/images/../keys.json", "/images/..%2f..%2fkeys.json", "/static/../app.py", "/keys.json",
    "/static/%2e%2e/app.py", "/static//etc/passwd", "/images/1-0-%2e%2e%2fkeys.json",
    "/study.sqlite", "/shared/..%2f..%2fkeys.json",
)  # fmt: skip
OWNERS = ("status", "people", "items", "agreement", "judgements.csv", "judgements.parquet")


def read_files(scene: Scene) -> str:
    """Read files of the server by paths."""
    client, read = scene.house.client(), []
    for path in PATHS:
        request = client.build_request("GET", scene.house.url)
        request.url = request.url.copy_with(raw_path=path.encode())
        read += [path] * (client.send(request).status_code == OPENED)
    return ", ".join(read)


def owners_part(client: httpx.Client) -> list[str]:
    """What of the owner's part opens for someone."""
    return [p for p in OWNERS if client.get(f"/api/owner/{p}").status_code == OPENED]


def look_in(scene: Scene) -> str:
    """Open the owner's part, people's tasks and pictures without any session."""
    client = scene.house.client()
    opened = owners_part(client)
    opened += [path for path in ("/api/me", "/images/1-0-x", "/api/tasks/1")
               if client.get(path).status_code == OPENED]  # fmt: skip
    return ", ".join(opened)


def nonsense(scene: Scene) -> str:
    """Send bodies that are none, or too large, from other sites or in other forms."""
    client, wrong = scene.house.client(), []
    bodies = (b"", b"[]", b"{", b"\xff\xfe", b"[" * 9000, b'{"token": 1e400}', b"x" * 100_000)
    paths = ("/api/join", "/api/answers", "/api/owner/join", "/api/join/prolific")
    others: tuple[dict[str, str], ...] = ({}, {"X-Tellapart": ""}, {"Origin": "https://a.example"})
    for path, body, more in itertools.product(paths, bodies, others):
        answer = client.post(path, content=body, headers=more)
        if answer.status_code == OPENED or answer.status_code >= 500:
            wrong.append(f"{path} answers {answer.status_code}")
    return ", ".join(sorted(set(wrong)))


def other_user(scene: Scene) -> str:
    """Read the study's secrets as another user of the machine."""
    names = ("keys.json", "study.sqlite", "study.sqlite-wal", "study.sqlite-shm")
    there = [scene.house.folder / name for name in names]
    return ", ".join(one.name for one in there if one.exists() and one.stat().st_mode & 0o077)


def half_a_request(scene: Scene) -> str:
    """Hold connections with nothing, a part of a head or of a body for as long as they last."""
    starts = (b"", b"POST /api/ne", b"GET / HTTP/1.1\r\nX-A: ",
              b"POST /api/next HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")  # fmt: skip
    held = [socket.create_connection(("127.0.0.1", scene.house.port)) for _ in starts]
    for client, start in zip(held, starts, strict=True):
        client.sendall(start)
        client.setblocking(False)
    time.sleep(HEAD_SECONDS + 5)
    open_ = sum(map(still_open, held))
    for client in held:
        client.close()
    return f"{open_} of {len(held)} are held after {HEAD_SECONDS + 5:.0f} s" if open_ else ""


def still_open(client: socket.socket) -> bool:
    """Whether the other side has not ended a connection that sends nothing more."""
    try:
        while client.recv(65_536):  # an answer may have come before the end
            pass
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False


def ask_and_never_read(scene: Scene) -> str:
    """Send requests one after the other without waiting for answers."""
    before, asked = memory_of(scene.process), b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 40
    sent = 0
    with socket.create_connection(("127.0.0.1", scene.house.port), timeout=5) as client:
        try:
            for _ in range(20_000):
                client.sendall(asked)
                sent += len(asked)
        except OSError:
            pass
        grown = memory_of(scene.process) - before
    return f"{sent / 1e6:.0f} MB taken, {grown:.0f} MB held" if sent > 8e6 else ""


def crowd(scene: Scene) -> str:
    """Hold many connections while people work, who must be able to answer all that is free."""
    stage = scene.house.owner().get("/api/owner/status").json()["stages"][0]
    free = stage["wanted"] - stage["given"] - stage["held"]
    tokens = scene.house.invite(scene.people)
    people = [Stubborn(one, random.Random(k)) for k, one in enumerate(tokens)]
    slow = SlowCrowd(scene.house.port, scene.slow, pause=5.0)
    held: list[int] = []

    def answered() -> int:
        return sum(len(one.acknowledged) for one in people)

    async def everyone() -> None:
        done, end = asyncio.Event(), time.monotonic() + 240
        holding = asyncio.create_task(slow.hold(done))
        await asyncio.sleep(min(5.0, scene.slow / 100))

        def enough() -> bool:
            return answered() >= free or time.monotonic() > end

        working = asyncio.gather(*(one.work(scene.house.port, enough) for one in people))
        while not working.done():
            held.append(open_files(scene.process))
            await asyncio.sleep(0.2)
        await working
        done.set()
        await holding

    asyncio.run(everyone())
    if answered() < free:
        return f"{scene.people} people gave {answered()} of {free} answers in time"
    usual = median(held)  # for a moment there may be more: those that are about to be let go
    return f"{usual:,.0f} connections are held" if usual > MOST_HELD else ""


# As an annotator


def as_owner(scene: Scene) -> str:
    """Open the owner's part with a link or a session of one's own."""
    token = scene.house.invite(1)[0]
    person = scene.house.person(token)
    opened = []
    for cookie in (person.cookies["tellapart"], token):
        opened += owners_part(scene.house.client(cookies={"tellapart-owner": cookie}))
    joined = scene.house.client().post("/api/owner/join", json={"token": token})
    return ", ".join(opened + ["the owner's session"] * (joined.status_code == OPENED))


def others_tasks(scene: Scene) -> str:
    """See pictures of others, answer what one was not given."""
    one, other = map(scene.house.person, scene.house.invite(2))
    task = one.post("/api/next", json={}).json()["task"]
    other.post("/api/next", json={})
    image = task["options"][0].get("image") or task["shown"][0].get("image")
    opened = [image] * (other.get(image).status_code == OPENED)
    answer = other.post("/api/answers", json={"number": 99, "value": "1"})
    return ", ".join(opened + ["task 99"] * (answer.status_code == OPENED))


def the_truth(scene: Scene) -> str:
    """Read what is right, or which tasks are checks, in what the page gets."""
    person = scene.house.person(scene.house.invite(1)[0])
    told = person.post("/api/next", json={}).text + person.get("/api/me").text
    return ", ".join(w for w in ("truth", "is_right", "target-", "decoy-", '"role"') if w in told)


def too_fast(scene: Scene) -> str:
    """Ask more than is allowed by bringing other cookies each time."""
    person = scene.house.person(scene.house.invite(1)[0])
    session, begun, through = person.cookies["tellapart"], time.monotonic(), 0
    client, tries = scene.house.client(), 400
    for k in range(tries):
        cookies = {"Cookie": f"a={k}; tellapart={session}"}
        through += client.get("/api/me", headers=cookies).status_code == OPENED
    allowed = 110 + 20 * (time.monotonic() - begun)
    return f"{through} of {tries} requests got through" if through > allowed else ""


def after_exclusion(scene: Scene) -> str:
    """Answer, and correct answers, after the owner voided them."""
    person = scene.house.person(scene.house.invite(1)[0])
    state = answer_all(person, most=1)
    owner = scene.house.owner()
    code = patiently(lambda: person.get("/api/me")).json()["person"]["code"]
    changed = owner.post(f"/api/owner/people/{code}/exclude", json={}).json()
    found = [] if changed["state"] == "excluded" else ["one step did not void them"]
    for number, revise in ((1, True), (state["task"]["number"], False)):
        sent = {"number": number, "value": "2", "revise": revise}
        taken = person.post("/api/answers", json=sent).status_code == OPENED
        found += [f"task {number} was taken"] * taken
    return ", ".join(found)


# As the owner


def sessions_that_ended(scene: Scene) -> str:
    """Go on with a session after leaving it, or after the owner's link was renewed."""
    left, renewed = scene.house.owner(), scene.house.owner()
    session = next(one.value for one in left.cookies.jar)
    left.post("/api/owner/leave", json={})
    found = owners_part(scene.house.client(cookies={"tellapart-owner": session}))
    old = scene.house.owner_token
    scene.house.command("owner", scene.house.folder, "--renew", *scene.house._where())
    found += owners_part(renewed)
    joined = scene.house.client().post("/api/owner/join", json={"token": old})
    return ", ".join(found + ["the old link"] * (joined.status_code == OPENED))


def act_as_person(scene: Scene) -> str:
    """Use the owner's session as an annotator's."""
    session = next(one.value for one in scene.house.owner().cookies.jar)
    forged = scene.house.client(cookies={"tellapart": session})
    return "the owner's session is a person's" * (forged.get("/api/me").status_code == OPENED)


def markup(scene: Scene) -> str:
    """Put markup into what the page shows of people."""
    owner, text = scene.house.owner(), "<script>alert(1)</script>"
    owner.post("/api/owner/invite", json={"people": 1, "label": text})
    answer = owner.get("/api/owner/people")
    plain = answer.headers["content-type"].startswith("application/json")
    policy = answer.headers.get("content-security-policy", "")
    return "" if plain and "script-src 'self'" in policy else "it is sent as a page"


ATTACKS = (
    Attack("stranger", "come by Prolific's link with the id of another study", any_study),
    Attack("stranger", "fill a study with made-up people of Prolific", fill_up),
    Attack("stranger", "come as somebody else who is there already", come_twice),
    Attack("stranger", "say that an answer took an hour", lie_about_time),
    Attack("stranger", "get the completion code for nothing", code_for_nothing),
    Attack("stranger", "guess links with made-up sessions", guess),
    Attack("stranger", "guess links under made-up addresses", guess_from_elsewhere),
    Attack("stranger", "lock others of the same address out", lock_out),
    Attack("stranger", "read files by their paths", read_files),
    Attack("stranger", "look into studies without a session", look_in),
    Attack("stranger", "send nonsense, and from other sites", nonsense),
    Attack("stranger", "read the study's files as another user of the machine", other_user),
    Attack("stranger", "hold connections with half a request", half_a_request),
    Attack("stranger", "ask on and on and never read", ask_and_never_read),
    Attack("annotator", "open the owner's part", as_owner),
    Attack("annotator", "see others' pictures, answer others' tasks", others_tasks),
    Attack("annotator", "read the truth in what the page gets", the_truth),
    Attack("annotator", "ask too fast under other cookies", too_fast),
    Attack("annotator", "answer and correct after an exclusion", after_exclusion),
    Attack("owner", "go on with a session that has ended", sessions_that_ended),
    Attack("owner", "act as a person", act_as_person),
    Attack("owner", "put markup into the page", markup),
    Attack("stranger", "hold a thousand connections while people work", crowd),
)


def attempts(scene: Scene, attacks: Sequence[Attack] = ATTACKS) -> Iterator[tuple[Attack, str]]:
    """Attacks with what they found; one that cannot be carried out is a finding too."""
    for attack in attacks:
        try:
            yield attack, attack.attempt(scene)
        except (AssertionError, httpx.HTTPError, KeyError, TypeError) as error:
            yield attack, f"it could not be tried: {type(error).__name__} {error}"[:200]
