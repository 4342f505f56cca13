"""`chat`: against a real server on this machine that is slow, wrong, broken or gone at times."""

from __future__ import annotations

import base64
import io
import json
import math
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from PIL import Image as Pillow
from tests.models.small import pictures
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app
from tellapart.errors import BadInput, TellapartError
from tellapart.items import Image, Item, Origin, Slot, Word
from tellapart.models.chat import Prompt, data_url, likeliest, position, prompt_of
from tellapart.models.model import Chooser, ShownQuestion
from tellapart.models.names import load
from tellapart.pictures import Picture
from tellapart.questions import Ask, questions
from tellapart.verbs.runs.measure import measure

pytest.importorskip("httpx", reason="httpx is not installed")

KEY = "sk-very-secret-key-123"
Answer = tuple[int, Any] | tuple[int, Any, dict[str, str]]


def says(text: str, tokens: list[dict[str, Any]] | None = None, total: int = 10) -> Answer:
    choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
    choice |= {"logprobs": {"content": tokens}} if tokens is not None else {}
    return 200, {"choices": [choice], "usage": {"total_tokens": total}}


class Server:
    """An OpenAI-compatible server on loopback; `reply(request number, body)` makes the answers."""

    def __init__(self, reply: Callable[[int, Any], Answer]) -> None:
        self.bodies: list[Any] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        outer = self
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    number = len(outer.bodies)
                    outer.bodies.append(body)
                    outer.keys.append(self.headers.get("Authorization"))
                    outer.times.append(time.monotonic())
                status, content, *headers = reply(number, body)
                sent = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                for name, value in (headers[0] if headers else {}).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *args: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *args: Any) -> None:  # clients that hung up
                pass

        self._server = Quiet(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setenv("TELLAPART_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    started: list[Server] = []

    def start(reply: Callable[[int, Any], Answer]) -> Server:
        started.append(Server(reply))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("pictures"), count=2)


def item(seen: list[Picture]) -> Item:
    caption = "A dog and a dog on a mat"
    words = (Word(2, 5, True), Word(12, 15, True), Word(21, 24, True))
    slot = Slot(0, 12, 15, "cat", "dog", words=words, candidates=("bird", "cat", "cow"))
    return Item.imported(
        "test", "1", images=tuple(p.id for p in seen), captions=(caption, "Two cats."),
        true=frozenset({(0, 1), (1, 0)}), kind="replace-object", origin=Origin("test"), slot=slot,
    )  # fmt: skip


def asked(seen, ask=Ask.CAPTION, order=None, count=1) -> list[ShownQuestion]:
    question = next(iter(questions(item(seen), frozenset([ask]))))
    order = order or tuple(range(len(question.options)))
    return [ShownQuestion(question, tuple(seen), order, trial) for trial in range(count)]


def chat(server: Server, options: str = "") -> Any:
    return load(f"chat:some/model@{server.url}?wait=0.01&timeout=2&retries=3{options}")


def texts_in(body: Any) -> str:
    content = body["messages"][0]["content"]
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def test_a_question_is_sent_with_its_picture_and_letters_in_the_order_shown(serve, seen):
    server = serve(lambda number, body: says("B"))
    model = chat(server)
    assert isinstance(model, Chooser)
    (reply,) = model.choose(asked(seen, order=(1, 0)))
    assert (reply.shown, reply.text, reply.failure) == (1, "B", "")
    (body,) = server.bodies
    assert body["model"] == "some/model" and body["temperature"] == 0
    assert body["logprobs"] is True and body["max_tokens"] == 16
    assert "A. Two cats.\nB. A dog and a dog on a mat" in texts_in(body)
    urls = [p["image_url"]["url"] for p in body["messages"][0]["content"] if "image_url" in p]
    assert urls == [data_url(seen[0])]
    assert server.keys == [f"Bearer {KEY}"]


def test_every_sort_of_question_has_its_own_words(seen):
    made = {ask: prompt_of(asked(seen, ask)[0]) for ask in Ask}
    said = {ask: "\n".join(p for p in made[ask].parts if isinstance(p, str)) for ask in Ask}
    assert len(set(said.values())) == len(Ask)
    assert made[Ask.JUDGE].answers == ("yes", "no") and "yes or no" in said[Ask.JUDGE]
    assert made[Ask.IMAGE].parts[1:5] == ("Picture A:", seen[0], "Picture B:", seen[1])
    assert made[Ask.MEND].options == ("bird", "cat", "cow")
    assert '"dog" is wrong' in said[Ask.MEND]
    assert made[Ask.NOUN].options == ("dog (number 1)", "dog (number 2)", "mat")
    judged = asked(seen, Ask.JUDGE, order=(1, 0))[0]
    assert prompt_of(judged).answers == ("no", "yes")


def test_judging_is_answered_with_yes_or_no_in_either_order(serve, seen):
    server = serve(lambda number, body: says("Yes."))
    model = chat(server)
    for order in ((0, 1), (1, 0)):
        (one,) = asked(seen, Ask.JUDGE, order=order)
        (reply,) = model.choose([one])
        assert one.question.options[order[reply.shown]] == "yes"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("B", 1), (" b.\n", 1), ("(B)", 1), ("**B**", 1), ("Answer: B", 1), ("The answer is B.", 1),
        ("B. a dog", 1), ("B) A dog.", 1), ("<think>A? no.</think>B", 1), ("A", 0),
        ("A dog.", None), ("A or B", None), ("AB", None), ("C", None), ("", None),
        ("B. a cat", None),
        ("I cannot tell.", None), ("Both A and B fit", None), ("neither", None),
    ],
)  # fmt: skip
def test_replies_are_read_strictly(text, place):
    assert position(text, Prompt((), ("A", "B"), ("a cat", "a dog"))) == place


def test_probabilities_of_the_letter_decide_where_the_server_gives_them(serve, seen):
    tops = [
        {"token": "B", "logprob": math.log(0.40)},
        {"token": "A", "logprob": math.log(0.35)},
        {"token": " a", "logprob": math.log(0.15)},
        {"token": "The", "logprob": math.log(0.1)},
    ]
    tokens = [
        {"token": "(", "logprob": 0.0, "top_logprobs": []},
        {"token": "B", "logprob": math.log(0.4), "top_logprobs": tops},
        {"token": ")", "logprob": 0.0, "top_logprobs": []},
    ]
    server = serve(lambda number, body: says("(B)", tokens))
    (reply,) = chat(server).choose(asked(seen))
    assert (reply.shown, reply.text) == (0, "(B)"), "A in all spellings is likelier than B"
    (reply,) = chat(server, "&logprobs=false").choose(asked(seen))
    assert "logprobs" not in server.bodies[-1]
    ask = Prompt((), ("A", "B"), ("", ""))
    assert likeliest([], ask, 1) == likeliest([{"token": "x"}], ask, 1) == 1
    assert likeliest([{"token": "B", "logprob": -0.1}], ask, 1) == 1


def test_pitfall_6_a_model_that_always_says_a_wins_nothing(serve, benchmarks, tmp_path):
    server = serve(lambda number, body: says("A"))
    options = ta.EvaluateOptions(trials=5, limit=4)
    (run,) = ta.evaluate(
        [chat(server, "&concurrency=8")], benchmarks["mcic"], tmp_path / "runs", options
    )
    accuracy, consistency = measure(run, measures=["accuracy", "consistency"]).rows
    assert accuracy.value == pytest.approx(0.2) and consistency.value == 0
    orders = {tuple(row) for row in run.answers["order"].to_list()}
    assert len(orders) > 5
    for file in (tmp_path / "runs").rglob("*"):
        assert file.is_dir() or KEY.encode() not in file.read_bytes(), file


def test_busy_broken_and_truncated_replies_are_tried_again(serve, seen):
    bad: list[Answer] = [
        (429, {"error": {"message": "slow down"}}, {"Retry-After": "0.3"}),
        (500, b"oops"),
        (200, b'{"choices": [{"message": {"content": "A'),
    ]
    server = serve(lambda number, body: bad[number] if number < len(bad) else says("A"))
    (reply,) = chat(server).choose(asked(seen))
    assert reply.shown == 0 and len(server.bodies) == 4
    assert server.times[1] - server.times[0] >= 0.3, "Retry-After is honoured"


def test_a_server_that_stays_broken_is_a_failure_of_that_question(serve, seen):
    server = serve(lambda number, body: (503, {"error": f"overloaded, {KEY}"}))
    (reply,) = chat(server).choose(asked(seen))
    assert reply.shown is None and len(server.bodies) == 4
    assert "status 503" in reply.failure and "after 4 attempts" in reply.failure
    assert KEY not in reply.failure


def test_a_slow_server_is_given_up_after_the_timeout(serve, seen):
    def slow(number: int, body: Any) -> Answer:
        if number == 0:
            time.sleep(0.8)
        return says("B")

    server = serve(slow)
    model = load(f"chat:m@{server.url}?wait=0.01&timeout=0.3&retries=1")
    (reply,) = model.choose(asked(seen))
    assert reply.shown == 1 and len(server.bodies) == 2
    stuck = serve(lambda number, body: (time.sleep(0.8), says("B"))[1])
    (reply,) = load(f"chat:m@{stuck.url}?wait=0.01&timeout=0.2&retries=1").choose(asked(seen))
    assert reply.shown is None and "Timeout" in reply.failure


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("I am only a language model.", "I am only a language model."),
        ("", ""),
        (f"your key is {KEY}", "your key is [key]"),
    ],
)
def test_nonsense_is_a_failure_and_the_reply_is_kept(serve, seen, content, kept):
    server = serve(lambda number, body: says(content))
    (reply,) = chat(server).choose(asked(seen))
    assert reply.shown is None and reply.text == kept
    assert "allowed: A, B" in reply.failure and len(server.bodies) == 1


@pytest.mark.parametrize("content", [{"error": "odd"}, {"choices": []}, {"choices": [{"x": 1}]}])
def test_json_of_another_shape_is_a_failure_and_kept(serve, seen, content):
    server = serve(lambda number, body: (200, content))
    (reply,) = chat(server).choose(asked(seen))
    assert reply.shown is None and str(content) == reply.text


def test_a_server_that_goes_away_in_the_middle_fails_the_rest_quickly(serve, seen):
    server = serve(lambda number, body: says("A"))
    model = chat(server, "&concurrency=1")
    first = model.choose(asked(seen, count=3))
    server.stop()
    started = time.monotonic()
    rest = model.choose(asked(seen, count=20))
    assert [r.shown for r in first] == [0, 0, 0]
    assert all(r.shown is None and "Connect" in r.failure for r in rest)
    assert model.endpoint.requests == 3 + 4 + 19, "all attempts for one, then one each"
    assert time.monotonic() - started < 5


def evaluated(server: Server, benchmarks, out) -> tuple[int, str, dict[str, Any]]:
    """Exit code, what is printed, and the run's card, of the command on twelve questions."""
    name = f"chat:test@{server.url}?retries=1&wait=0.01&concurrency=1"
    words = ["evaluate", name, "--on", str(benchmarks["mcic"].root), "--out", str(out)]
    done = CliRunner().invoke(app, [*words, "--limit", "12", "--batch-size", "4"])
    (run,) = out.glob("*/*/run.json")
    return done.exit_code, done.output, json.loads(run.read_text())


def test_a_server_that_is_down_shows_in_the_card_and_the_exit_code(serve, benchmarks, tmp_path):
    server = serve(lambda number, body: says("A"))
    server.stop()
    code, printed, card = evaluated(server, benchmarks, tmp_path)
    assert code == 3 and "12 of 12 questions failed: ConnectError" in printed
    assert "more than half of the questions have no answer" in printed and "13 requests" in printed
    assert card["tally"]["failed"] == card["tally"]["asked"] == 12
    ((reason, times),) = card["tally"]["reasons"].items()
    assert reason.startswith("ConnectError") and times == 12, "attempts do not divide the reason"


def test_a_server_that_talks_nonsense_shows_in_the_card_and_the_exit_code(
    serve, benchmarks, tmp_path
):
    server = serve(lambda number, body: says("A" if number < 2 else "Purple."))
    code, printed, card = evaluated(server, benchmarks, tmp_path)
    assert code == 3 and "10 of 12 questions failed: the reply is not an answer" in printed
    assert "120 tokens in 12 requests" in printed
    assert card["tally"]["reasons"] == {"the reply is not an answer": 10}


def test_a_server_that_dies_in_the_middle_shows_in_the_card_and_the_exit_code(
    serve, benchmarks, tmp_path
):
    def dying(number: int, body: Any) -> Answer:
        if number == 4:
            threading.Thread(target=server.stop).start()
        return says("A") if number < 4 else (200, b"{")

    server = serve(dying)
    code, printed, card = evaluated(server, benchmarks, tmp_path)
    assert code == 3 and card["tally"]["failed"] == 8 and "8 of 12 questions failed" in printed
    few = serve(lambda number, body: says("A" if number < 8 else "?"))
    code, printed, card = evaluated(few, benchmarks, tmp_path / "few")
    assert code == 0 and card["tally"]["failed"] == 4 and "4 of 12 questions failed" in printed


def test_the_limit_of_requests_is_a_recorded_failure_for_the_rest(serve, benchmarks, tmp_path):
    server = serve(lambda number, body: says("A"))
    model = chat(server, "&max_requests=5")
    (run,) = ta.evaluate([model], benchmarks["mcic"], tmp_path, ta.EvaluateOptions(limit=9))
    assert len(server.bodies) == 5
    by_status = dict(run.answers["status"].value_counts().iter_rows())
    assert by_status == {"answered": 5, "failed": 4}
    failed = run.answers.filter(run.answers["status"] == "failed")["reply"].to_list()
    assert all("max_requests=5" in text for text in failed)


def test_the_limit_of_tokens_counts_what_the_server_says_it_used(serve, seen):
    server = serve(lambda number, body: says("A", total=100))
    model = chat(server, "&max_tokens_total=250&concurrency=1")
    replies = model.choose(asked(seen, count=6))
    assert [r.shown for r in replies] == [0, 0, 0, None, None, None]
    assert "max_tokens_total=250" in replies[-1].failure and model.endpoint.tokens == 300


def test_fields_that_a_server_does_not_take_are_left_out(serve, seen):
    def picky(number: int, body: Any) -> Answer:
        for field in ("logprobs", "max_tokens"):
            if field in body:
                return 400, {"error": {"message": f"Unsupported parameter: '{field}'"}}
        return says("B")

    server = serve(picky)
    model = chat(server, "&concurrency=1")
    assert [r.shown for r in model.choose(asked(seen, count=3))] == [1, 1, 1]
    assert len(server.bodies) == 5 and server.bodies[-1]["max_completion_tokens"] == 16
    assert "top_logprobs" not in server.bodies[-1]
    many = load(f"chat:m@{server.url}?retries=0&concurrency=8").choose(asked(seen, count=16))
    assert [r.shown for r in many] == [1] * 16, "all at once, and without attempts to spare"


def test_a_refused_request_is_not_repeated(serve, seen):
    server = serve(lambda number, body: (400, {"error": {"message": "image too large"}}))
    (reply,) = chat(server).choose(asked(seen))
    assert len(server.bodies) == 1 and "image too large" in reply.failure


def test_a_wrong_key_stops_with_what_to_do_and_without_the_key(serve, seen):
    server = serve(lambda number, body: (401, {"error": {"message": f"bad key {KEY}"}}))
    with pytest.raises(TellapartError) as caught:
        chat(server).choose(asked(seen, count=8))
    assert "TELLAPART_API_KEY" in str(caught.value) and KEY not in str(caught.value)
    assert len(server.bodies) < 8


def test_a_stopped_run_does_not_wait_for_its_pauses(serve, seen):
    def reply(number: int, body: Any) -> Answer:
        return (401, {}) if number == 3 else (503, {}, {"Retry-After": "30"})

    model = chat(serve(reply), "&concurrency=4")
    started = time.monotonic()
    with pytest.raises(TellapartError):
        model.choose(asked(seen, count=4))
    assert time.monotonic() - started < 10


def test_requests_go_out_together_and_replies_come_back_in_order(serve, seen):
    together, most, lock = [0], [0], threading.Lock()

    def reply(number: int, body: Any) -> Answer:
        with lock:
            together[0] += 1
            most[0] = max(most[0], together[0])
        time.sleep(0.05 if "A. Two" in texts_in(body) else 0.1)
        with lock:
            together[0] -= 1
        return says("A" if "A. Two" in texts_in(body) else "B")

    model = chat(serve(reply), "&concurrency=4")
    many = [asked(seen, order=(k % 2, 1 - k % 2))[0] for k in range(12)]
    assert [r.shown for r in model.choose(many)] == [1, 0] * 6
    assert 2 <= most[0] <= 4


def test_the_name_carries_what_changes_answers_and_nothing_else(serve):
    server = serve(lambda number, body: says("A"))
    model = chat(server, "&temperature=0.5&max_requests=3")
    assert model.facts.name == f"chat:some/model@{server.url}?temperature=0.5"
    assert load(model.facts.name).facts == model.facts
    assert KEY not in repr(model.facts) and model.facts.preprocessing


def test_the_key_may_be_openais_or_none(serve, seen, monkeypatch):
    server = serve(lambda number, body: says("A"))
    monkeypatch.delenv("TELLAPART_API_KEY")
    monkeypatch.setenv("OPENAI_API_KEY", "other")
    chat(server).choose(asked(seen))
    monkeypatch.delenv("OPENAI_API_KEY")
    chat(server).choose(asked(seen))
    assert server.keys == ["Bearer other", None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chat:gpt-4o", "does not name a model and a server"),
        ("chat:@http://host/v1", "does not name a model and a server"),
        ("chat:m@ftp://host", "does not name a model and a server"),
        ("chat:m@https://me:secret@host/v1", "contains a password"),
        ("chat:m@https://host/v1?concurrency=0", "concurrency=0 is too low"),
    ],
)
def test_mistakes_in_the_string_are_explained(text, message):
    with pytest.raises(BadInput, match=message) as caught:
        load(text)
    assert "secret" not in str(caught.value)


def decoded(url: str) -> tuple[str, Any, bytes]:
    head, _, tail = url.partition(",")
    content = base64.b64decode(tail)
    return head, Pillow.open(io.BytesIO(content)), content


def test_pictures_go_out_as_stored_unless_readers_would_differ(tmp_path, world):
    noise = Pillow.effect_noise((40, 30), 90).convert("RGB")
    turned = Pillow.Exif()
    turned[0x0112] = 6
    noise.save(tmp_path / "plain.jpg")
    noise.save(tmp_path / "turned.jpg", exif=turned)
    noise.save(tmp_path / "plain.png")
    noise.save(tmp_path / "other.webp", lossless=True)
    noise.convert("P").save(tmp_path / "palette.png")

    def sent(uri: str) -> tuple[str, Any, bytes]:
        return decoded(data_url(Picture(Image("x", uri), tmp_path)))

    for name, kind in (("plain.jpg", "jpeg"), ("plain.png", "png")):
        head, _, content = sent(name)
        assert head == f"data:image/{kind};base64" and content == (tmp_path / name).read_bytes()
    for name in ("turned.jpg", "other.webp", "palette.png", "plain.png#crop=5,5,10,8"):
        head, picture, _ = sent(name)
        expected = Picture(Image("x", name), tmp_path).open()
        assert head == "data:image/png;base64" and picture.tobytes() == expected.tobytes()
    drawn = world.picture(world.images["id"][0])
    _, picture, _ = decoded(data_url(drawn))
    assert drawn.metadata() and not getattr(picture, "text", {}), "the truth stays here"
    assert picture.convert("RGB").tobytes() == drawn.open().tobytes()
