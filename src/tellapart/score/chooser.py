"""Asking choosers: every question in each of its orders, and none twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import polars as pl

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadImage, TellapartError
from tellapart.models.model import ChooserReply, ShownQuestion
from tellapart.questions import Question, questions
from tellapart.score.batches import ModelFailed
from tellapart.score.plan import ScoreTask
from tellapart.score.run import REPLY_MARK, answers_frame
from tellapart.store.records import Journal
from tellapart.types import Progress, silent

Row = tuple[Any, ...]
AT_ONCE = 50_000
"""How many answers are held as Python objects at a time."""


@dataclass(frozen=True, slots=True)
class Way:
    """How questions are asked: the seed of their orders, how often, how many at a time."""

    seed: int
    trials: int
    batch_size: int
    skip_bad: bool = False


def ask_all(
    model: Any,
    task: ScoreTask,
    way: Way,
    *,
    journal: Journal | None = None,
    kept: pl.DataFrame | None = None,
    progress: Progress = silent,
) -> pl.DataFrame:
    """The answers to all questions of a task.

    Answers in the journal, and those in `kept` (an earlier run), are not asked again.
    """
    known = dict(journal.known) if journal else {}
    if kept is not None:
        known |= _answers_of_run(kept)
    frames, rows, done = [answers_frame([])], [], 0
    for items in _parts(iter(task.items), way.batch_size):
        asked = [one for item in items for one in _shown_questions(task.benchmark, item, task, way)]
        for part in _parts(iter(asked), way.batch_size):
            replies = _replies(model, part, known, journal, way.skip_bad)
            rows += [_answer_row(one, reply) for one, reply in zip(part, replies, strict=True)]
        if len(rows) >= AT_ONCE:
            frames.append(answers_frame(rows))
            rows = []
        done += len(items)
        progress("questions", done, len(task.items))
    return pl.concat([*frames, answers_frame(rows)])


def _shown_questions(
    benchmark: Benchmark, item: Any, task: ScoreTask, way: Way
) -> Iterator[ShownQuestion]:
    pictures = benchmark.pictures(item)
    for question in questions(item, task.asks):
        for trial in range(way.trials):
            yield ShownQuestion(question, pictures, order_of(question, trial, way.seed), trial)


def _parts(things: Iterator[Any], size: int) -> Iterator[list[Any]]:
    while part := list(islice(things, size)):
        yield part


def _key(asked: ShownQuestion) -> str:
    order = ",".join(map(str, asked.order))
    return f"{asked.item.id} {asked.question.id} {asked.trial} {order}"


def _answers_of_run(run: pl.DataFrame) -> dict[str, Any]:
    """The answers of an earlier run, in the journal's format."""
    found = {}
    for item, question, trial, order, choice, status, reply in run.iter_rows():
        if status == "answered" and choice in order:
            key = f"{item} {question} {trial} {','.join(map(str, order))}"
            found[key] = [order.index(choice), reply]
    return found


def _replies(
    model: Any,
    part: Sequence[ShownQuestion],
    known: dict[str, Any],
    journal: Journal | None,
    skip_bad: bool,
) -> list[ChooserReply]:
    """A reply to each question; unknown ones are asked, and recorded unless they failed."""
    missing = [one for one in part if _key(one) not in known]
    fresh = dict(zip(map(_key, missing), _ask(model, missing, skip_bad), strict=True))
    good = {k: [r.shown, r.text] for k, r in fresh.items() if r.shown is not None and not r.failure}
    if journal and good:
        journal.add(good)
    return [
        fresh[key] if key in fresh else ChooserReply(shown=known[key][0], text=known[key][1])
        for key in map(_key, part)
    ]


def _ask(model: Any, asked: Sequence[ShownQuestion], skip_bad: bool) -> list[ChooserReply]:
    """Ask a batch; an unreachable server fails these questions, not the job."""
    if not asked:
        return []
    try:
        replies = list(model.choose(asked))
    except BadImage as error:
        if not skip_bad:
            raise
        if len(asked) == 1:
            return [ChooserReply(shown=None, failure=error.what)]
        return [reply for one in asked for reply in _ask(model, [one], skip_bad)]
    except TellapartError:
        raise
    except OSError as error:  # refused, broken or timed-out connections
        return [ChooserReply(shown=None, failure=f"{type(error).__name__}: {error}")] * len(asked)
    except Exception as error:
        raise _failed(model, asked, f"{type(error).__name__}: {error}") from error
    if len(replies) != len(asked):
        raise _failed(model, asked, f"it returned {len(replies)} replies to {len(asked)} questions")
    for one, reply in zip(asked, replies, strict=True):
        if reply.shown is not None and not 0 <= reply.shown < len(one.order):
            raise _failed(model, [one], f"it chose option {reply.shown} of {len(one.order)}")
    return replies


def _failed(model: Any, asked: Sequence[ShownQuestion], what: str) -> ModelFailed:
    first = f"{asked[0].question.id} of item {asked[0].item.id}"
    more = f" and {len(asked) - 1} more" if len(asked) > 1 else ""
    return ModelFailed(
        f"{model.facts.name} failed on the batch of {first}{more}: {what}",
        todo="fix the model and run the same command again: its answers are kept",
    )


def order_of(question: Question, trial: int, seed: int) -> tuple[int, ...]:
    """The order in which options are shown: shuffled, then rotated by one position per trial.

    With as many trials as options, each option is at each position once, so that a model that
    favours a position neither gains nor loses by it.
    """
    rng = seeds.rng(seed, "order", question.item.content, question.id)
    shuffled = [int(k) for k in rng.permutation(len(question.options))]
    first = trial % len(shuffled)
    return tuple(shuffled[first:] + shuffled[:first])


def _answer_row(asked: ShownQuestion, reply: ChooserReply) -> Row:
    answered = reply.shown is not None and not reply.failure
    choice = asked.order[reply.shown] if answered and reply.shown is not None else None
    status = "answered" if answered else "failed"
    text = REPLY_MARK.join(part for part in (reply.failure, reply.text) if part)
    return asked.item.id, asked.question.id, asked.trial, list(asked.order), choice, status, text
