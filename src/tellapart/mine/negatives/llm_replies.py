"""Replies of a language model: read strictly, and all of them kept.

Replies are kept in the cache by model and conversation, so that a job that was stopped goes on;
and in `replies.parquet` beside the benchmark, from which it can be made again without the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.errors import BadInput
from tellapart.mine.negatives.edit import Source
from tellapart.mine.negatives.prompts import MARK, NONE, lesson, wording
from tellapart.models.language.writing import Talk, Writer, Written
from tellapart.models.model import Facts
from tellapart.score.cache import fingerprint
from tellapart.score.work import Journal
from tellapart.tables import read_table, require_columns

TABLE = "replies"
NO_ANSWER = "no answer"
COLUMNS = ("caption", "kind", "attempt", "talk", "reply", "verdict")
THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ask:
    """A conversation about one caption and kind, and the negatives that came of it so far."""

    row: int
    source: Source
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
            folder = self.cache / "replies" / fingerprint(self.writer.facts)[:32]
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

    def note(self, ask: Ask, written: Written, verdict: str) -> None:
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
        self.facts = Facts(made["model"], weights=made["model weights"])

    def write(self, talks: Sequence[Talk]) -> list[Written]:
        """What was said before."""
        found = (self._known.get(_key(talk)) for talk in talks)
        return [
            Written(failure="was not asked before") if text is None else Written(text)
            for text in found
        ]


def _key(talk: Talk) -> str:
    return seeds.digest(talk)
