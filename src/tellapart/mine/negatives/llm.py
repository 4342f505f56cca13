"""Negatives by a language model: asked kind by kind, read strictly, asked again where refused.

Hsieh et al. 2023, SugarCrepe, and Miranda et al. 2024, section 5.1, with prompts of our own. What
the model writes passes the same judge as what rules write.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tellapart import seeds
from tellapart.errors import BadInput, TellapartError
from tellapart.mine.negatives.edit import Negative
from tellapart.mine.negatives.llm_captions import edited, has_what_it_takes, is_reworded
from tellapart.mine.negatives.llm_replies import (
    NO_ANSWER,
    TABLE,
    Ask,
    KeptReplies,
    Replies,
    read_reply,
)
from tellapart.mine.negatives.making import Made, Task
from tellapart.mine.negatives.prompts import again, another, lesson, opening, wording
from tellapart.models.language.writing import Writer, Written, writer_of
from tellapart.score.cache import default_folder
from tellapart.text.formatting import alike, formed_like

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


def make(task: Task) -> Made:
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
    return Made(found, work.refused, about, {TABLE: replies.table()})


def _writer(text: str) -> Writer:
    scheme, _, rest = text.partition(":")
    return KeptReplies(rest) if scheme == "replies" and rest else writer_of(text)


@dataclass
class _Work:
    """What is going on: open conversations, what came of others."""

    task: Task
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
        waiting: list[Ask] = []
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

    def _fresh(self, kind: str) -> Iterator[Ask]:
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
            yield Ask(row, source, kind, opening(kind, text))

    def _some(self, fresh: Iterator[Ask], kind: str, open_asks: list[Ask]) -> list[Ask]:
        """As many new conversations of a kind as there is room and need for."""
        room = max(0, self.own.at_once - len(open_asks))
        if self.task.items is not None:
            wanted = math.ceil(self.task.items / len(self.task.options.kinds))
            missing = wanted - self.made[kind]
            going = sum(ask.kind == kind for ask in open_asks)
            room = min(room, max(missing, FEWEST_OPEN) - going if missing > 0 else 0)
        return [ask for _, ask in zip(range(room), fresh, strict=False)]

    def _asked(self, wave: list[Ask]) -> Iterator[Ask]:
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

    def _next(self, ask: Ask, answer: Written) -> Iterator[Ask]:
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

    def _verdict(self, ask: Ask, answer: Written) -> tuple[str, str]:
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

    def _negative(self, ask: Ask, caption: str) -> Negative:
        source = ask.source
        text = formed_like(source.text, caption) if self.task.options.as_written else caption
        was, now = edited(source.text, caption)
        notes = {"model": self.replies.writer.facts.name, "attempt": str(ask.attempt)}
        return Negative(source.caption, source.image, ask.kind, source.text, text, was, now, notes)
