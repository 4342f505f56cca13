"""What is read off a caption before a language model is asked, and off what it wrote."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.errors import BadInput, TellapartError, need
from tellapart.mine.negatives.edit import Negative, SourceCaption, difference, is_one_swap
from tellapart.mine.negatives.making import NegativeSet, NegativesTask
from tellapart.mine.negatives.prompts import MARK, NONE, again, another, lesson, opening, wording
from tellapart.models.model import ModelInfo
from tellapart.models.writer import Talk, Writer, Written, writer_of
from tellapart.store.cache import default_folder
from tellapart.store.records import Journal
from tellapart.tables import read_table, require_columns
from tellapart.text.english import alike, formed_like
from tellapart.text.parses import Parse
from tellapart.text.tokens import FUNCTION_WORDS, tokens


def edited(original: str, negative: str) -> tuple[str, str]:
    """The words that gave way and those that came, or the two that changed places.

    >>> edited("A cat on a red mat.", "A red mat on a cat."), edited("A cat.", "A big cat.")
    (('cat', 'red mat'), ('', 'big'))
    """
    old = tokens(original)
    found = difference(old, tokens(negative))
    if found is None:
        return "", ""
    runs = is_one_swap(found)
    if runs is None:
        return " ".join(found.was), " ".join(found.now)
    first, second = (" ".join(old[start:end]) for start, end in runs)
    return first, second


def is_reworded(was: str, now: str) -> bool:
    """Whether words gave way to other forms of themselves, which a model likes to do.

    >>> is_reworded("sitting", "sits"), is_reworded("sitting", "stands"), is_reworded("", "big")
    (True, False, False)
    """
    before, after = _content(was), _content(now)
    if not before or len(before) != len(after):
        return False
    return all(_bases(old) & _bases(new) for old, new in zip(before, after, strict=True))


def _content(text: str) -> list[str]:
    return [word for word in tokens(text) if word not in FUNCTION_WORDS]


@cache
def _bases(word: str) -> frozenset[str]:
    """The base forms that a word may have."""
    lemminflect = need("lemminflect", "text", "finding base forms")
    found: dict[str, tuple[str, ...]] = lemminflect.getAllLemmas(word)
    return frozenset({word, *(base for bases in found.values() for base in bases)})


def has_what_it_takes(parse: Parse, kind: str) -> bool:
    """Whether a caption has the words that a kind changes, so that asking is not in vain."""
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


TABLE = "replies"
NO_ANSWER = "no answer"
COLUMNS = ("caption", "kind", "attempt", "talk", "reply", "verdict")
THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation about one caption and kind, and the negatives that came of it so far."""

    row: int
    source: SourceCaption
    kind: str
    talk: Talk
    attempt: int = 1
    made: tuple[str, ...] = ()


def read_reply(text: str) -> tuple[str, str]:
    """The new caption in a reply, or why there is none: "form" or "none".

    One line must begin with the mark, and nothing but thoughts may stand around it.

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


@dataclass
class Replies:
    """Asks a writer what it was not asked before, and keeps a row for every reply."""

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

    def ask(self, talks: Sequence[Talk]) -> list[Written]:
        """What is said next in each conversation; failures are not kept and asked again."""
        keys = [_key(talk) for talk in talks]
        known = self._journal.known if self._journal is not None else {}
        new = {key: talk for key, talk in zip(keys, talks, strict=True) if key not in known}
        said = dict(zip(new, self.writer.write(list(new.values())) if new else [], strict=True))
        good = {key: one.text for key, one in said.items() if not one.failure}
        if self._journal is not None and good:
            self._journal.add(good)
        return [said[key] if key in said else Written(known[key]) for key in keys]

    def note(self, ask: Conversation, written: Written, verdict: str) -> None:
        """Keep a row for the benchmark's folder; the lesson of its kind stands in the card."""
        own = ask.talk[len(lesson(ask.kind)) :]
        about = (ask.source.caption, ask.kind, ask.attempt, json.dumps(own))
        reply = written.text or written.failure
        self.rows.append((*about, reply, verdict))

    def table(self) -> pl.DataFrame:
        """Every conversation with its reply and what became of it."""
        kinds = {name: pl.Int32 if name == "attempt" else pl.String for name in COLUMNS}
        return pl.DataFrame(self.rows, schema=kinds, orient="row")


class KeptReplies:
    """Says what a model said before: replies:FOLDER, the folder of a benchmark that it wrote."""

    def __init__(self, folder: str) -> None:
        path = Path(folder) / f"{TABLE}.parquet"
        table = read_table(path)
        require_columns(table, COLUMNS, path)
        made = load_benchmark(folder).card.made
        if made.get("wording") != wording():
            raise BadInput(
                "these replies were given to other prompts than are put now",
                where=str(path),
                todo="take the version of tellapart that its benchmark.json names",
            )
        answered = table.filter(pl.col("verdict") != NO_ANSWER)
        self._known = {
            _key((*lesson(kind), *json.loads(talk))): reply
            for kind, talk, reply in answered.select("kind", "talk", "reply").iter_rows()
        }
        self.facts = ModelInfo(made["model"], weights=made["model weights"])

    def write(self, talks: Sequence[Talk]) -> list[Written]:
        """What was said before."""
        found = (self._known.get(_key(talk)) for talk in talks)
        return [
            Written(failure="was not asked before") if text is None else Written(text)
            for text in found
        ]


def _key(talk: Talk) -> str:
    return seeds.digest(talk)


FEWEST_OPEN = 8
"""How many captions of a kind are asked about at a time even if fewer negatives are wanted."""
NOTHING, REPEATED = "nothing to change", "said before"
"""Why there is no negative, beside what the reply itself and the judge say."""
PATIENCE = 16
"""How many conversations in a row may stay without an answer before a job stops."""
Place = tuple[int, int, int]
"""Where a negative stands among all: its caption, its kind, which one of them."""


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """How a language model is asked.

    `attempts` is how often about one caption and kind, the first time included; `at_once` how many
    conversations go to the model before what it wrote is kept. `writer` is a model of one's own.
    """

    attempts: int = 3
    at_once: int = 64
    writer: Writer | None = None


def make(task: NegativesTask) -> NegativeSet:
    """Negatives of every caption, or of as many in a random order as give what is wanted."""
    own = task.options.llm or LlmOptions()
    if not isinstance(own, LlmOptions):
        raise BadInput(f"{type(own).__name__} are not options of llm", allowed="LlmOptions(...)")
    writer = own.writer or _writer(task.options.by.partition(":")[2])
    cache = None if isinstance(writer, KeptReplies) else task.options.cache or default_folder()
    with Replies(writer, cache) as replies:
        work = _Work(task, own, replies)
        work.run()
    found = [negative for _, negative in sorted(work.found, key=lambda one: one[0])]
    about = {
        "model": writer.facts.name,
        "model weights": writer.facts.weights,
        "wording": wording(),
        "lessons": {kind: lesson(kind) for kind in task.options.kinds},
        "attempts": own.attempts,
        "conversations": work.conversations,
        "replies": len(replies.rows),
    }
    return NegativeSet(found, work.refused, about, {TABLE: replies.table()})


def _writer(text: str) -> Writer:
    scheme, _, rest = text.partition(":")
    return KeptReplies(rest) if scheme == "replies" and rest else writer_of(text)


@dataclass
class _Work:
    """What is going on: open conversations, what came of others."""

    task: NegativesTask
    own: LlmOptions
    replies: Replies
    found: list[tuple[Place, Negative]] = field(default_factory=list)
    made: Counter[str] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    looked_at: int = 0
    conversations: int = 0
    unanswered: int = 0

    def run(self) -> None:
        """Ask in waves: those who must be asked again first, then about new captions."""
        kinds = self.task.options.kinds
        fresh = {kind: self._fresh(kind) for kind in kinds}
        waiting: list[Conversation] = []
        while True:
            wave, waiting = waiting[: self.own.at_once], waiting[self.own.at_once :]
            for kind in kinds:
                wave += self._some(fresh[kind], kind, [*wave, *waiting])
            if not wave:
                break
            waiting += self._asked(wave)
            self._tell(len(waiting))
        if self.unanswered and self.unanswered == len(self.replies.rows):
            raise self._silent()

    def _tell(self, waiting: int) -> None:
        """How far it is: negatives of those wanted, or captions and kinds of all."""
        items, every = self.task.items, self.task.corpus.captions.height
        if items is not None:
            self.task.progress(min(len(self.found), items), items)
        else:
            self.task.progress(self.looked_at - waiting, every * len(self.task.options.kinds))

    def _fresh(self, kind: str) -> Iterator[Conversation]:
        """First questions about captions, in an order that the seed gives where not all are."""
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
            text = source.text if self.task.options.as_written else alike(source.text)
            self.conversations += 1
            yield Conversation(row, source, kind, opening(kind, text))

    def _some(
        self, fresh: Iterator[Conversation], kind: str, open_asks: list[Conversation]
    ) -> list[Conversation]:
        """As many new conversations of a kind as there is room and need for."""
        room = max(0, self.own.at_once - len(open_asks))
        if self.task.items is not None:
            wanted = math.ceil(self.task.items / len(self.task.options.kinds))
            missing = wanted - self.made[kind]
            going = sum(ask.kind == kind for ask in open_asks)
            room = min(room, max(missing, FEWEST_OPEN) - going if missing > 0 else 0)
        return [ask for _, ask in zip(range(room), fresh, strict=False)]

    def _asked(self, wave: list[Conversation]) -> Iterator[Conversation]:
        """Put a wave to the model; those who must be asked once more."""
        answers = self.replies.ask([ask.talk for ask in wave])
        for ask, answer in zip(wave, answers, strict=True):
            self.unanswered = self.unanswered + 1 if answer.failure else 0
            yield from self._next(ask, answer)
        if self.unanswered >= PATIENCE:
            raise self._silent()

    def _silent(self) -> TellapartError:
        return TellapartError(
            f"the model gives no answers: {self.replies.rows[-1][-2]}",
            where=self.replies.writer.facts.name,
            todo="give the same command again when it does: what it wrote so far is kept",
        )

    def _next(self, ask: Conversation, answer: Written) -> Iterator[Conversation]:
        caption, verdict = self._verdict(ask, answer)
        self.replies.note(ask, answer, verdict)
        if verdict == "kept":
            place = (ask.row, self.task.options.kinds.index(ask.kind), len(ask.made))
            self.found.append((place, self._negative(ask, caption)))
            self.made[ask.kind] += 1
            if len(ask.made) + 1 < self.task.options.per_caption:
                talk = another(ask.talk, answer.text)
                yield replace(ask, talk=talk, attempt=1, made=(*ask.made, caption))
            return
        self.refused[ask.kind, verdict] += 1
        if verdict not in (NO_ANSWER, "none") and ask.attempt < self.own.attempts:
            talk = again(ask.talk, answer.text, verdict)
            yield replace(ask, talk=talk, attempt=ask.attempt + 1)

    def _verdict(self, ask: Conversation, answer: Written) -> tuple[str, str]:
        if answer.failure:
            return "", NO_ANSWER
        caption, problem = read_reply(answer.text)
        if problem:
            return "", problem
        if alike(caption) in map(alike, ask.made):
            return "", REPEATED
        refused = self.task.judge.problem(ask.source, caption, ask.kind)
        if refused is None and is_reworded(*edited(ask.source.text, caption)):
            refused = "paraphrase"
        return caption, refused or "kept"

    def _negative(self, ask: Conversation, caption: str) -> Negative:
        source = ask.source
        text = formed_like(source.text, caption) if self.task.options.as_written else caption
        was, now = edited(source.text, caption)
        notes = {"model": self.replies.writer.facts.name, "attempt": str(ask.attempt)}
        return Negative(source.caption, source.image, ask.kind, source.text, text, was, now, notes)
