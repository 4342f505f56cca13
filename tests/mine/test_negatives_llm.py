"""Negatives by a language model: strict reading, reasons, retries, a server that misbehaves."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.models.small import bert_tokenizer, library, one_thread, wide
from tests.models.test_chat import KEY, Answer, Server, says

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.errors import BadInput, TellapartError, UnknownName
from tellapart.items import KINDS
from tellapart.mine.negatives import llm
from tellapart.mine.negatives.checks import REASONS, edited, problem_of
from tellapart.mine.negatives.llm import LlmOptions, has_what_it_takes, read_reply
from tellapart.mine.negatives.prompts import AGAIN, LESSONS, opening
from tellapart.models.model import ModelInfo
from tellapart.models.writer import Talk, WriterReply, writer_of
from tellapart.text.english import formed_like
from tellapart.text.parse import parse
from tellapart.verbs.build.negatives import NegativesOptions, negatives

pytest.importorskip("spacy", reason="spacy is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")

CAPTIONS = {
    "dogs": ["A brown dog runs after a white cat.", "a dog chases a cat in the park"],
    "cake": ["A small cake on a wooden table.", "a cake and a knife on a table"],
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return make_corpus(
        "two pictures",
        tmp_path_factory.mktemp("corpus"),
        [{"id": name, "uri": f"{name}.jpg", "objects": [name.rstrip("s")]} for name in CAPTIONS],
        [
            {"id": f"{image}-{k}", "image": image, "text": text, "where": ""}
            for image, texts in CAPTIONS.items()
            for k, text in enumerate(texts)
        ],
    )


class Scripted:
    """A writer that answers by a function of the caption asked about and the attempt."""

    facts = ModelInfo("scripted", weights="none")

    def __init__(self, answer: Callable[[str, int], str | WriterReply]) -> None:
        self.answer = answer
        self.talks: list[Talk] = []

    def write(self, talks: Sequence[Talk]) -> list[WriterReply]:
        self.talks += talks
        made = [self.answer(asked_about(talk), attempt(talk)) for talk in talks]
        return [one if isinstance(one, WriterReply) else WriterReply(one) for one in made]


def other(caption: str) -> str:
    """A good reply: another object."""
    return f"NEW: {caption.replace(' dog', ' horse').replace(' cake', ' pie')}"


def asked_about(talk: Talk) -> str:
    """The last caption that is shown in a conversation."""
    shown = [what for who, what in talk if who == "user" and "Caption: " in what]
    return shown[-1].rpartition("Caption: ")[2]


def attempt(talk: Talk) -> int:
    last = max(k for k, (who, what) in enumerate(talk) if "Caption: " in what)
    return 1 + (len(talk) - 1 - last) // 2


def made(
    corpus: Corpus, out: Path, writer: Any = None, by: str = "llm:x", **more: Any
) -> Benchmark:
    attempts = more.pop("attempts", 3)
    options = NegativesOptions(
        kinds=more.pop("kinds", ("replace-object",)),
        by=by,
        cache=more.pop("cache", out.parent / "cache"),
        llm=LlmOptions(attempts, more.pop("at_once", 64), writer),
        **more,
    )
    return negatives(corpus, out, options)


def replies(out: Path) -> pl.DataFrame:
    return pl.read_parquet(out / "replies.parquet")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("NEW: A cat runs.", ("A cat runs.", "")),
        ('  NEW: "A cat runs." \n\n', ("A cat runs.", "")),
        ("<think>A dog?\nNo.</think>\nNEW: A cat runs.", ("A cat runs.", "")),
        ("NONE", ("", "none")),
        ("NEW: NONE.", ("", "none")),
        ("", ("", "form")),
        ("A cat runs.", ("", "form")),
        ("Sure! NEW: A cat runs.", ("", "form")),
        ("NEW: A cat runs.\nI changed the dog.", ("", "form")),
        ("NEW: A cat runs.\nNEW: A cow runs.", ("", "form")),
    ],
)
def test_replies_are_read_strictly(text, read):
    assert read_reply(text) == read


def test_every_worked_example_would_pass_the_check():
    assert set(LESSONS) == set(KINDS)
    for kind, lesson in LESSONS.items():
        parses = parse([old for old, _ in lesson.examples])
        for one, (old, new) in zip(parses, lesson.examples, strict=True):
            assert problem_of(one, new, kind) is None, new
            assert has_what_it_takes(one, kind), old
            assert edited(old, new) != ("", "")


def test_a_question_teaches_shows_and_asks_of_one_kind_only():
    talks = {kind: opening(kind, "A dog.") for kind in KINDS}
    for kind, talk in talks.items():
        assert [who for who, _ in talk] == ["user", "assistant"] * 3 + ["user"]
        assert talk[-1] == ("user", "Caption: A dog.") and LESSONS[kind].change in talk[0][1]
        assert all(read_reply(what)[0] for who, what in talk if who == "assistant")
    assert len({talk[0] for talk in talks.values()}) == len(KINDS)
    assert set(REASONS) <= set(AGAIN)


def test_pitfall_5_good_replies_become_items_with_both_captions_in_one_form(corpus, tmp_path):
    writer = Scripted(
        lambda caption, _: f"NEW: {caption.replace(' dog', ' horse').replace(' cake', ' pie')}"
    )
    built = made(corpus, tmp_path / "out", writer)
    assert [item.kind for item in built.items] == ["replace-object"] * 4
    for item in built.items:
        original = item.captions[item.original[1]]
        negative = item.captions[1 - item.original[1]]
        assert negative == original.replace(" dog", " horse").replace(" cake", " pie")
        assert all(text[0].isupper() and text.endswith(".") for text in item.captions)
        assert item.origin.notes["model"] == "scripted"
        assert (item.origin.notes["was"], item.origin.notes["now"]) in {
            ("dog", "horse"), ("cake", "pie")
        }  # fmt: skip
    assert built.card.made["model"] == "scripted" and built.card.made["replies"] == 4
    assert replies(tmp_path / "out")["verdict"].to_list() == ["kept"] * 4


WRONG = {
    "form": "A horse runs after a white cat.",
    "none": "NONE",
    "question": "NEW: Is a brown horse running after a white cat?",
    "no final mark": "NEW: A brown horse runs after a white cat",
    "several sentences": "NEW: A brown horse runs. A white cat sleeps.",
    "no edit": "NEW: A brown dog runs after a white cat.",
    "several edits": "NEW: A brown horse runs after a white cow.",
    "paraphrase": "NEW: A white cat runs after a brown dog.",
    "other kind": "NEW: A black dog runs after a white cat.",
    "mentioned": "NEW: A brown cat runs after a white cat.",
}


@pytest.mark.parametrize("reason", WRONG)
def test_wrong_replies_are_refused_with_their_reason_and_asked_again(corpus, tmp_path, reason):
    first = CAPTIONS["dogs"][0]

    def answer(caption: str, tried: int) -> str:
        if caption == first and tried == 1:
            return WRONG[reason]
        return other(caption)

    writer = Scripted(answer)
    built = made(corpus, tmp_path / "out", writer)
    assert built.card.made["refused"] == {"replace-object": {reason: 1}}
    again = [talk for talk in writer.talks if attempt(talk) == 2]
    if reason == "none":
        assert not again and len(built.items) == 3, "a model that says there is nothing is believed"
        return
    assert len(built.items) == 4 and len(again) == 1
    (talk,) = again
    assert talk[-2] == ("assistant", WRONG[reason])
    assert talk[-1][1].startswith(AGAIN.get(reason, "That may be true of the photograph."))


def test_a_word_in_another_form_of_itself_is_a_paraphrase(corpus, tmp_path):
    said = {1: "A dog is chasing a cat in the park.", 2: "A dog leads a cat in the park."}

    def answer(caption: str, tried: int) -> str:
        return f"NEW: {said[tried]}" if "chases" in caption else "NONE"

    built = made(corpus, tmp_path / "out", Scripted(answer), kinds=("replace-relation",))
    assert built.card.made["refused"]["replace-relation"]["paraphrase"] == 1
    assert [item.origin.notes["attempt"] for item in built.items] == ["2"]


def test_attempts_are_bounded_and_every_reply_is_kept(corpus, tmp_path):
    writer = Scripted(lambda caption, tried: f"NEW: {caption}")
    with pytest.raises(BadInput, match="has no items"):
        made(corpus, tmp_path / "none", writer, attempts=2)
    assert len(writer.talks) == 8
    good = Scripted(
        lambda caption, tried: (
            "NEW: A brown horse runs after a white cat." if "brown" in caption else "?"
        )
    )
    built = made(corpus, tmp_path / "out", good, attempts=2, cache=tmp_path / "other")
    table = replies(tmp_path / "out")
    assert built.card.made["refused"] == {"replace-object": {"form": 6}}
    assert table.group_by("attempt").len().sort("attempt").rows() == [(1, 4), (2, 3)]
    assert Counter(table["verdict"]) == {"kept": 1, "form": 6}
    talks = [json.loads(talk) for talk in table["talk"]]
    assert talks[0] == [["user", "Caption: A brown dog runs after a white cat."]]
    assert [len(talk) for talk in talks] == [1, 1, 1, 1, 3, 3, 3]
    lessons = built.card.made["lessons"]
    assert LESSONS["replace-object"].change in lessons["replace-object"][0][1]


def test_several_negatives_of_a_caption_are_different(corpus, tmp_path):
    words = {1: "horse", 2: "horse", 3: "goat"}
    seen: list[int] = []

    def answer(caption: str, tried: int) -> str:
        if "dog" not in caption:
            return "NONE"
        seen.append(tried)
        return f"NEW: {caption.replace('dog', words[tried])}"

    built = made(corpus, tmp_path / "out", Scripted(answer), per_caption=2)
    assert len(built.items) == 4 and len({item.captions for item in built.items}) == 4
    assert built.card.made["refused"]["replace-object"]["said before"] == 2
    assert sorted(seen) == [1, 1, 2, 2, 3, 3]


def test_no_more_is_asked_than_gives_what_is_wanted(tmp_path):
    names = [str(k) for k in range(60)]
    many = make_corpus(
        "many",
        tmp_path,
        [{"id": k, "uri": f"{k}.jpg"} for k in names],
        [
            {"id": k, "image": k, "text": f"A dog, number {k}, on a mat.", "where": ""}
            for k in names
        ],
    )
    kinds = ("replace-object", "add-attribute")

    def answer(caption: str, tried: int) -> str:
        return f"NEW: {caption.replace(' dog', ' cat')}" if tried == 1 else "NONE"

    writer = Scripted(answer)
    built = made(many, tmp_path / "out", writer, kinds=kinds[:1], items=20)
    assert len(built.items) == 20 and len(writer.talks) == 20
    again = made(many, tmp_path / "again", Scripted(answer), kinds=kinds[:1], items=20)
    other = made(many, tmp_path / "other", Scripted(answer), kinds=kinds[:1], items=20, seed=1)
    assert again.sha256 == built.sha256 != other.sha256
    both = made(many, tmp_path / "both", Scripted(answer), kinds=kinds, items=20)
    assert Counter(item.kind for item in both.items) == {"replace-object": 10}


def test_captions_without_the_words_that_a_kind_changes_are_not_asked_about(corpus, tmp_path):
    writer = Scripted(lambda caption, tried: "NEW: A white dog runs after a brown cat.")
    built = made(corpus, tmp_path / "out", writer, kinds=("swap-attribute",), attempts=1)
    assert len(built.items) == 1 and len(writer.talks) == 2
    assert built.card.made["refused"]["swap-attribute"]["nothing to change"] == 2


def test_the_captions_own_form_is_kept_where_asked(corpus, tmp_path):
    writer = Scripted(
        lambda caption, tried: (
            "NEW: A horse chases a cat in the park." if "chases" in caption else "NONE"
        )
    )
    built = made(corpus, tmp_path / "out", writer, as_written=True)
    assert {frozenset(item.captions) for item in built.items} == {
        frozenset({"a dog chases a cat in the park", "a horse chases a cat in the park"})
    }
    assert formed_like("Two dogs!", "two cats.") == "Two cats!"


def test_an_interrupted_job_goes_on_and_kept_replies_make_it_again(corpus, tmp_path):
    def answer(caption: str, tried: int) -> str | WriterReply:
        if broken and "cake" in caption:
            raise KeyboardInterrupt
        return other(caption)

    broken = True
    writer = Scripted(answer)
    with pytest.raises(KeyboardInterrupt):
        made(corpus, tmp_path / "out", writer, at_once=1)
    assert not (tmp_path / "out").exists()
    broken = False
    built = made(corpus, tmp_path / "out", writer, at_once=1)
    asked = Counter(map(asked_about, writer.talks))
    assert len(built.items) == 4 and sorted(asked.values()) == [1, 1, 1, 2]
    again = made(
        corpus, tmp_path / "again", by=f"llm:replies:{tmp_path / 'out'}", cache=tmp_path / "empty"
    )
    assert again.sha256 == built.sha256 and again.card.made["model"] == "scripted"
    assert replies(tmp_path / "again").equals(replies(tmp_path / "out"))
    for name in ("items.parquet", "replies.parquet"):
        first, second = ((tmp_path / part / name).read_bytes() for part in ("out", "again"))
        assert first == second
    cards = [load_benchmark(tmp_path / part).card.made for part in ("out", "again")]
    assert {key for key in cards[0] if cards[0][key] != cards[1][key]} == {"negatives_by"}


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


def good(body: Any) -> Answer:
    return says(other(body["messages"][-1]["content"].rpartition("Caption: ")[2]))


def by(server: Server, options: str = "", retries: int = 3) -> str:
    return f"llm:chat:some/model@{server.url}?wait=0.01&timeout=0.5&retries={retries}{options}"


def test_a_server_that_is_busy_broken_slow_or_cut_off_is_asked_again(corpus, tmp_path, serve):
    bad: list[Answer] = [
        (429, {"error": {"message": "slow down"}}, {"Retry-After": "0.05"}),
        (500, b"oops"),
        (200, b'{"choices": [{"message": {"content": "NEW: A'),
    ]

    def reply(number: int, body: Any) -> Answer:
        if number == len(bad):
            time.sleep(0.8)
        return bad[number] if number < len(bad) else good(body)

    server = serve(reply)
    built = made(corpus, tmp_path / "out", by=by(server, "&concurrency=1", 5))
    assert len(built.items) == 4 and len(server.bodies) == 8
    body = server.bodies[-1]
    assert body["model"] == "some/model" and body["temperature"] == 0 and body["max_tokens"] == 96
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant"] * 3 + ["user"]
    assert built.card.made["model"] == f"chat:some/model@{server.url}"
    for file in (tmp_path / "out").iterdir():
        assert KEY.encode() not in file.read_bytes()


def test_nonsense_truncation_and_failures_are_counted_and_the_rest_is_kept(corpus, tmp_path, serve):
    def reply(number: int, body: Any) -> Answer:
        caption = body["messages"][-1]["content"]
        if "brown" in caption:
            return 400, {"error": {"message": f"content filter, {KEY}"}}
        if "chases" in caption:
            return says("NEW: A horse chases a cat in the")
        if "small" in caption:
            return says(f"As a language model with the key {KEY} I cannot.")
        return good(body)

    server = serve(reply)
    built = made(corpus, tmp_path / "out", by=by(server), attempts=1)
    assert len(built.items) == 1
    assert built.card.made["refused"] == {
        "replace-object": {"form": 1, "no answer": 1, "no final mark": 1}
    }
    table = replies(tmp_path / "out")
    assert KEY not in "".join(table["reply"]) and "content filter" in "".join(table["reply"])


def test_a_server_that_is_gone_stops_the_job(corpus, tmp_path, serve, monkeypatch):
    first = serve(lambda number, body: good(body) if number < 1 else (503, {}))
    monkeypatch.setattr(llm, "PATIENCE", 2)
    with pytest.raises(TellapartError, match="does not answer: status 503") as caught:
        made(corpus, tmp_path / "out", by=by(first, "&concurrency=1"), at_once=1)
    assert "its replies so far are kept" in str(caught.value)
    first.stop()
    monkeypatch.setattr(llm, "PATIENCE", 99)
    with pytest.raises(TellapartError, match="does not answer: Connect"):
        made(corpus, tmp_path / "out", by=by(first), cache=tmp_path / "empty")
    assert not (tmp_path / "out").exists()


def test_a_wrong_key_stops_with_what_to_do(corpus, tmp_path, serve):
    server = serve(lambda number, body: (401, {"error": {"message": f"bad key {KEY}"}}))
    with pytest.raises(TellapartError, match="401") as caught:
        made(corpus, tmp_path / "out", by=by(server))
    assert "TELLAPART_API_KEY" in str(caught.value) and KEY not in str(caught.value)


def test_requests_go_out_together(corpus, tmp_path, serve):
    server = serve(lambda number, body: (time.sleep(0.2), good(body))[1])
    made(corpus, tmp_path / "out", by=by(server, "&concurrency=4"))
    assert max(server.times) - min(server.times) < 0.15


def test_writers_that_cannot_be_are_explained(tmp_path):
    with pytest.raises(UnknownName, match="no sort of writer called 'gpt'"):
        writer_of("gpt:4")
    with pytest.raises(BadInput, match="does not name a model and a server"):
        writer_of("chat:gpt-4o")
    with pytest.raises(BadInput, match="concurrency=0 is too low"):
        writer_of("chat:m@http://host/v1?concurrency=0")
    with pytest.raises(BadInput, match="there is no file"):
        made(corpus_of_one(tmp_path), tmp_path / "out", by=f"llm:replies:{tmp_path / 'none'}")


def corpus_of_one(folder: Path) -> Corpus:
    return make_corpus(
        "one", folder, [{"id": "a", "uri": "a.jpg"}],
        [{"id": "0", "image": "a", "text": "A dog on a mat.", "where": ""}],
    )  # fmt: skip


TEMPLATE = "{% for m in messages %}{{ m['role'] }} {{ m['content'] }} {% endfor %}assistant"


def test_a_local_model_writes_what_the_library_generates(tmp_path):
    transformers = library("transformers")
    tokenizer = bert_tokenizer(transformers, tmp_path / "m")
    tokenizer.bos_token, tokenizer.eos_token = "[CLS]", "[SEP]"
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_positions=96, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )  # fmt: skip
    model = wide(transformers.GPT2LMHeadModel(config), 0.3)
    model.save_pretrained(tmp_path / "m")
    tokenizer.save_pretrained(tmp_path / "m")
    with pytest.raises(BadInput, match="no chat template"):
        writer_of(f"hf:{tmp_path / 'm'}")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(tmp_path / "m")
    with one_thread():
        writer = writer_of(f"hf:{tmp_path / 'm'}?max_tokens=9")
        said = ("a cat", "the dog on the mat", "a", "two")
        found = [one.text for one in writer.write([(("user", text),) for text in said])]
        for what, text in zip(said, found, strict=True):
            shown = f"user {what} assistant"
            ids = tokenizer(shown, add_special_tokens=False, return_tensors="pt").input_ids
            out = model.eval().generate(
                ids, max_new_tokens=9, do_sample=False, pad_token_id=tokenizer.eos_token_id
            )
            rest = out[0, ids.shape[1] :]
            assert text == tokenizer.decode(rest, skip_special_tokens=True)
    assert len(set(found)) > 1 and writer.facts.weights
    assert writer.facts.name == f"hf:{tmp_path / 'm'}?max_tokens=9"
