"""Negatives by a language model: asked kind by kind, read strictly, asked again if rejected.

Hsieh et al. 2023, SugarCrepe, and Miranda et al. 2024, section 5.1, with our own prompts. Negatives
from the model pass the same check as those from rules. All replies are kept: in the cache by model
and conversation, so that an interrupted job resumes; and in `replies.parquet` beside the benchmark,
from which it can be rebuilt without the model.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.errors import BadInput, TellapartError
from tellapart.files import read_table, require_columns
from tellapart.mine.negatives.checks import edited, is_reworded, parts_of_speech, problem_of
from tellapart.mine.negatives.claims import doubt_of, facts_of_parses
from tellapart.mine.negatives.negative import (
    Negative,
    NegativeSet,
    NegativesTask,
    SourceCaption,
    rows_by_image,
)
from tellapart.mine.negatives.prompts import MARK, NONE, again, another, lesson, opening, wording
from tellapart.models.model import ModelInfo
from tellapart.models.writer import Talk, Writer, WriterReply, writer_of
from tellapart.store.cache import default_folder
from tellapart.store.records import Journal
from tellapart.text.english import alike, formed_like
from tellapart.text.parses import Parse

TABLE = "replies"
NO_ANSWER = "no answer"
NOTHING, REPEATED = "nothing to change", "said before"
"""Further reasons for no negative, besides those of the reply itself and of the judge."""
COLUMNS = ("caption", "kind", "attempt", "talk", "reply", "verdict")
THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
FEWEST_OPEN = 8
"""The least number of captions asked about at a time, even if fewer negatives are wanted."""
PATIENCE = 16
"""How many conversations in a row may fail before a job stops."""


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """How a language model is asked.

    `attempts` is the number of attempts for one caption and kind, including the first; `at_once` is
    how many conversations go to the model before its replies are saved. `writer` is a user's own
    model.
    """

    attempts: int = 3
    at_once: int = 64
    writer: Writer | None = None


def make(task: NegativesTask) -> NegativeSet:
    """Negatives of every caption, or of captions in random order until there are enough."""
    own = task.method.llm or LlmOptions()
    if not isinstance(own, LlmOptions):
        raise BadInput(f"{type(own).__name__} are not options of llm", allowed="LlmOptions(...)")
    name = task.method.by.removeprefix("llm:")
    folder = name.removeprefix("replies:")
    writer = own.writer or (writer_of(name) if folder in ("", name) else KeptReplies(folder))
    cache = None if isinstance(writer, KeptReplies) else task.method.cache or default_folder()
    with Replies(writer, cache) as replies:
        job = _Job(task, own, replies)
        job.run()
    negatives = [negative for _, negative in sorted(job.negatives, key=lambda pair: pair[0])]
    about = {
        "model": writer.facts.name,
        "model_weights": writer.facts.weights,
        "wording": wording(),
        "lessons": {kind: lesson(kind) for kind in task.kinds},
        "attempts": own.attempts,
        "conversations": job.conversations,
        "replies": len(replies.rows),
    }
    return NegativeSet(negatives, job.refused, about, {TABLE: replies.table()})


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation about one caption and kind, and its negatives so far."""

    row: int
    source: SourceCaption
    kind: str
    talk: Talk
    attempt: int = 1
    made: tuple[str, ...] = ()


@dataclass
class _Job:
    """Open conversations, and the results of others.

    Negatives are keyed by their position: caption, kind, and number.
    """

    task: NegativesTask
    own: LlmOptions
    replies: Replies
    negatives: list[tuple[tuple[int, int, int], Negative]] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    looked_at: int = 0
    conversations: int = 0
    unanswered: int = 0

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.task)

    def run(self) -> None:
        """Ask in waves: repeated questions first, then new captions."""
        kinds = self.task.kinds
        fresh = {kind: self._first_questions(kind) for kind in kinds}
        waiting: list[Conversation] = []
        while True:
            wave, waiting = waiting[: self.own.at_once], waiting[self.own.at_once :]
            for kind in kinds:
                wave += self._new_conversations(fresh[kind], kind, [*wave, *waiting])
            if not wave:
                break
            waiting += self._ask_wave(wave)
            self._report_progress(len(waiting))
        if self.unanswered and self.unanswered == len(self.replies.rows):
            raise self._no_answer_error()

    def _report_progress(self, waiting: int) -> None:
        """Report progress: negatives of those wanted, or captions and kinds of all."""
        items, every = self.task.items, self.task.corpus.captions.height
        if items is not None:
            self.task.progress("negatives", min(len(self.negatives), items), items)
        else:
            self.task.progress("negatives", self.looked_at - waiting, every * len(self.task.kinds))

    def _first_questions(self, kind: str) -> Iterator[Conversation]:
        """First questions about captions, in a seeded random order if not all are needed."""
        rows = list(range(self.task.corpus.captions.height))
        if self.task.items is not None:
            rng = seeds.rng(self.task.seed, "negatives", "llm")
            rows = rng.permutation(len(rows)).tolist()
        for row in rows:
            self.looked_at += 1
            source = self.task.source(row)
            if not has_what_it_takes(source.parse, kind):
                self.refused[kind, NOTHING] += 1
                continue
            text = source.text if self.task.method.as_written else alike(source.text)
            self.conversations += 1
            yield Conversation(row, source, kind, opening(kind, text))

    def _new_conversations(
        self, fresh: Iterator[Conversation], kind: str, open_asks: list[Conversation]
    ) -> list[Conversation]:
        """As many new conversations of a kind as fit and are needed."""
        room = max(0, self.own.at_once - len(open_asks))
        if self.task.items is not None:
            wanted = math.ceil(self.task.items / len(self.task.kinds))
            missing = wanted - self.kept[kind]
            going = sum(ask.kind == kind for ask in open_asks)
            room = min(room, max(missing, FEWEST_OPEN) - going if missing > 0 else 0)
        return [ask for _, ask in zip(range(room), fresh, strict=False)]

    def _ask_wave(self, wave: list[Conversation]) -> Iterator[Conversation]:
        """Send a wave to the model; yields those that must be asked again."""
        answers = self.replies.ask([ask.talk for ask in wave])
        for ask, answer in zip(wave, answers, strict=True):
            self.unanswered = self.unanswered + 1 if answer.failure else 0
            yield from self._next(ask, answer)
        if self.unanswered >= PATIENCE:
            raise self._no_answer_error()

    def _no_answer_error(self) -> TellapartError:
        return TellapartError(
            f"the model does not answer: {self.replies.rows[-1][-2]}",
            where=self.replies.writer.facts.name,
            todo="run the same command again when it does: its replies so far are kept",
        )

    def _next(self, ask: Conversation, answer: WriterReply) -> Iterator[Conversation]:
        caption, verdict = self._verdict(ask, answer)
        self.replies.note(ask, answer, verdict)
        if verdict == "kept":
            place = (ask.row, self.task.kinds.index(ask.kind), len(ask.made))
            self.negatives.append((place, self._negative(ask, caption)))
            self.kept[ask.kind] += 1
            if len(ask.made) + 1 < self.task.method.per_caption:
                talk = another(ask.talk, answer.text)
                yield replace(ask, talk=talk, attempt=1, made=(*ask.made, caption))
            return
        self.refused[ask.kind, verdict] += 1
        if verdict not in (NO_ANSWER, "none") and ask.attempt < self.own.attempts:
            talk = again(ask.talk, answer.text, verdict)
            yield replace(ask, talk=talk, attempt=ask.attempt + 1)

    def _verdict(self, ask: Conversation, answer: WriterReply) -> tuple[str, str]:
        if answer.failure:
            return "", NO_ANSWER
        caption, problem = read_reply(answer.text)
        if problem:
            return "", problem
        if alike(caption) in map(alike, ask.made):
            return "", REPEATED
        return caption, self._judge.problem(ask.source, caption, ask.kind) or "kept"

    def _negative(self, ask: Conversation, caption: str) -> Negative:
        source = ask.source
        text = formed_like(source.text, caption) if self.task.method.as_written else caption
        was, now = edited(source.text, caption)
        notes = {"model": self.replies.writer.facts.name, "attempt": str(ask.attempt)}
        return Negative(source.caption, source.image, ask.kind, source.text, text, was, now, notes)


def has_what_it_takes(parse: Parse, kind: str) -> bool:
    """Whether a caption has the words that a kind changes, so that asking is worthwhile."""
    things = sum(token.pos in ("NOUN", "PROPN") for token in parse.tokens)
    properties = sum(
        token.pos in ("ADJ", "NUM") or token.dep in ("amod", "compound") for token in parse.tokens
    )
    if kind == "replace-attribute":
        return properties >= 1
    if kind == "swap-attribute":
        return properties >= 2 and things >= 2
    if kind == "replace-relation":
        return things >= 1 and any(token.pos in ("ADP", "VERB") for token in parse.tokens)
    return things >= (2 if kind == "swap-object" else 1)


def read_reply(text: str) -> tuple[str, str]:
    """The new caption in a reply, or why there is none: "form" or "none".

    One line must begin with the mark, and only thoughts may surround it.

    >>> read_reply("NEW: A cat runs."), read_reply("Sure! A cat runs."), read_reply("NONE")
    (('A cat runs.', ''), ('', 'form'), ('', 'none'))
    """
    lines = [line.strip() for line in THOUGHT.sub("", text).splitlines() if line.strip()]
    if len(lines) != 1:
        return "", "form"
    line = lines[0]
    bare = line.removeprefix(MARK).strip().strip("\"'“”").strip()
    if bare.rstrip(".") == NONE:
        return "", "none"
    return (bare, "") if line.startswith(MARK) else ("", "form")


class Judge:
    """Decides why a caption is rejected, by the image's captions and the corpus's usage."""

    def __init__(self, task: NegativesTask) -> None:
        self._task = task
        self._rows = rows_by_image(task.corpus)
        self._parts_of_speech = parts_of_speech(task.parses)

    def problem(self, source: SourceCaption, negative: str, kind: str) -> str | None:
        """One of `REASONS` or of `DOUBTS`; None if the negative is good."""
        wrong = problem_of(source.parse, negative, kind, self._parts_of_speech)
        if wrong is None:
            parses = [self._task.parses[row] for row in self._rows[source.image]]
            facts = facts_of_parses(parses, self._task.corpus.objects(source.image))
            wrong = doubt_of(source.parse, negative, kind, facts)
        if wrong is None and is_reworded(*edited(source.text, negative)):
            return "paraphrase"
        return wrong


@dataclass
class Replies:
    """Asks a writer only new questions, and keeps a row for every reply."""

    writer: Writer
    cache: Path | None = None
    rows: list[tuple[str | int, ...]] = field(default_factory=list)
    _journal: Journal | None = None

    def __enter__(self) -> Replies:
        if self.cache is not None:
            folder = self.cache / "replies" / self.writer.facts.fingerprint[:32]
            self._journal = Journal(folder)
        return self

    def __exit__(self, *error: object) -> None:
        if self._journal is not None:
            self._journal.close()

    def ask(self, talks: Sequence[Talk]) -> list[WriterReply]:
        """The next reply in each conversation; failures are not kept and are asked again."""
        keys = [_key(talk) for talk in talks]
        known = self._journal.known if self._journal is not None else {}
        new = {key: talk for key, talk in zip(keys, talks, strict=True) if key not in known}
        answers = self.writer.write(list(new.values())) if new else []
        fresh = dict(zip(new, answers, strict=True))
        good = {key: answer.text for key, answer in fresh.items() if not answer.failure}
        if self._journal is not None and good:
            self._journal.add(good)
        return [fresh[key] if key in fresh else WriterReply(known[key]) for key in keys]

    def note(self, ask: Conversation, written: WriterReply, verdict: str) -> None:
        """Keep a row for the benchmark's folder; the lesson of its kind is on the card."""
        own = json.dumps(ask.talk[len(lesson(ask.kind)) :])
        reply = written.text or written.failure
        self.rows.append((ask.source.caption, ask.kind, ask.attempt, own, reply, verdict))

    def table(self) -> pl.DataFrame:
        """Every conversation with its reply and verdict."""
        kinds = {name: pl.Int32 if name == "attempt" else pl.String for name in COLUMNS}
        return pl.DataFrame(self.rows, schema=kinds, orient="row")


class KeptReplies:
    """Repeats a model's earlier replies: replies:FOLDER, the folder of a benchmark it wrote."""

    def __init__(self, folder: str) -> None:
        path = Path(folder) / f"{TABLE}.parquet"
        table = read_table(path)
        require_columns(table, COLUMNS, path)
        made = load_benchmark(folder).card.made
        if made.get("wording") != wording():
            raise BadInput(
                "these replies answer the prompts of another version",
                where=str(path),
                todo="use the version of tellapart named in its benchmark.json",
            )
        answered = table.filter(pl.col("verdict") != NO_ANSWER)
        self._known = {
            _key((*lesson(kind), *json.loads(talk))): reply
            for kind, talk, reply in answered.select("kind", "talk", "reply").iter_rows()
        }
        weights = made["model weights"] if "model weights" in made else made["model_weights"]
        self.facts = ModelInfo(made["model"], weights=weights)

    def write(self, talks: Sequence[Talk]) -> list[WriterReply]:
        """The earlier replies."""
        replies = (self._known.get(_key(talk)) for talk in talks)
        return [
            WriterReply(failure="was not asked before") if text is None else WriterReply(text)
            for text in replies
        ]


def _key(talk: Talk) -> str:
    return seeds.digest(talk)
