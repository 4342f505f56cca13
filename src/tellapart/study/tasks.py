"""Tasks: created when a study is first opened, with checks and gold, and decided by votes.

The outcome of a task depends on the truth if it is known (who is right?), else on what people
chose. `full` is the maximum number of judgements per task; `keep` says who must agree.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, insert, select, update

from tellapart import seeds
from tellapart.benchmark.benchmark import Benchmark
from tellapart.errors import BadInput
from tellapart.items import Item
from tellapart.study.plan import Stage, StudyPlan
from tellapart.study.questions.question import Following, Matter
from tellapart.study.store import schema as t

CHECKS = 40
"""Number of attention checks prepared for a stage; nobody sees one twice."""
FIXED_RULES = ("name", "ask", "judgements", "twice", "stop", "keep")
"""Rules that cannot be changed once tasks have been created from them."""
LANES = 32
"""Tasks are distributed over this many lanes, and ordered within each lane, by seed. A person takes
the next task of each lane in turn. So everyone has their own order, tasks that have been started
are finished soon, and people who work at the same time do not compete for the same task. In a study
with surveys, each survey is a lane."""
RANKS = 2**26
"""Ranks are drawn below this number; a survey's second block comes behind its first."""


@dataclass(frozen=True, slots=True)
class StudyContent:
    """Everything that tasks are created from; training examples are by stage name."""

    plan: StudyPlan
    items: Benchmark
    gold: Benchmark | None
    training: dict[str, list[Matter]]


@dataclass(frozen=True, slots=True)
class Vote:
    """One judgement: the chosen key, and whether it is right (None: unknown)."""

    choice: str
    right: bool | None


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """Whether an item is kept, and the key that enough people agreed on (None: no agreement)."""

    kept: bool
    chosen: str | None


def fill(conn: Connection, content: StudyContent, now: int) -> None:
    """Add a study to a database that does not have it yet, or check that it is the same one."""
    plan = content.plan
    known = conn.execute(select(t.study).where(t.study.c.id == plan.id)).first()
    if known is None:
        _add(conn, content, now)
    elif (known.seed, known.items_sha256) != (plan.seed, content.items.sha256):
        raise BadInput(
            "the seed or the items differ from those in the database",
            allowed=f"seed {known.seed}, items {known.items_sha256[:12]}...",
            todo="undo the change, or create a new study",
        )
    _renew_training(conn, content)


def task_row(
    plan: StudyPlan, stage: Stage, stage_id: int, matter: Matter, unit: str
) -> dict[str, Any]:
    """An item's task; its position and number of judgements are drawn by seed."""
    path = (plan.seed, stage.name, matter.key)
    full = stage.judgements
    if stage.twice:
        full = 2 if seeds.unit("twice", *path) < stage.twice else 1
    wanted = full
    if stage.stop == "decided":
        wanted = missing(stage.keep, full, [], matter.truth is not None)
    counts = {"full_number": full, "wanted": wanted}
    return {"role": "item", "unit": unit, **_drawn(*path), **counts, **_stored(stage_id, matter)}


def _drawn(*path: Any) -> dict[str, int]:
    drawn = seeds.number("rank", *path) >> 33
    return {"lane": drawn % LANES, "rank": drawn // LANES}


def _stored(stage_id: int, matter: Matter) -> dict[str, Any]:
    text = json.dumps(matter.to_json(), ensure_ascii=False)
    return {"stage_id": stage_id, "key": matter.key, "matter": text}


def _add(conn: Connection, content: StudyContent, now: int) -> None:
    plan, items = content.plan, content.items
    conn.execute(
        insert(t.study).values(
            id=plan.id, name=plan.name, seed=plan.seed, items_sha256=items.sha256, made_at=now
        )
    )
    for place, stage in enumerate(plan.stages):
        rules = {name: asdict(stage)[name] for name in FIXED_RULES}
        row = {"place": place, "name": stage.name, "ask": stage.ask, "rules": json.dumps(rules)}
        stage_id = conn.execute(
            insert(t.stage).values(study_id=plan.id, **row).returning(t.stage.c.id)
        ).scalar_one()
        rows = list(_extra_rows(content, place, stage_id))
        if place == 0:
            surveys = _surveys(plan, items.items)
            for matter in sample_matters(plan.stages[:1], items.items):
                unit = matter.item if plan.once == "item" else matter.key
                task = task_row(plan, stage, stage_id, matter, unit)
                if plan.survey:
                    task["lane"] = surveys[matter.item]
                    task["rank"] += RANKS * stage.question.block(matter)
                rows.append(task)
        if rows:
            conn.execute(insert(t.task), rows)


def _surveys(plan: StudyPlan, items: Sequence[Item]) -> dict[str, int]:
    """The survey of each item, dealt by seed."""
    order = seeds.rng(plan.seed, "surveys").permutation(len(items))
    return {items[int(k)].id: n // plan.survey for n, k in enumerate(order)} if plan.survey else {}


def _extra_rows(content: StudyContent, place: int, stage_id: int) -> Iterator[dict[str, Any]]:
    """Checks and gold items: they need no number of judgements, so they never close."""
    plan = content.plan
    stage = plan.stages[place]
    checks = attention_checks(plan.stages[: place + 1], content.items.items, plan.seed)
    gold = content.gold.items if content.gold is not None else ()
    extras = [("check", matter) for matter in checks]
    extras += [("gold", m) for item in gold for m in stage.question.matters(item) if m.truth]
    for role, matter in extras:
        place_drawn = _drawn(plan.seed, stage.name, role, matter.key)
        yield {**_extra(role, stage, matter), **place_drawn, **_stored(stage_id, matter)}


def _extra(role: str, stage: Stage, matter: Matter) -> dict[str, Any]:
    unit = f"{role}:{stage.name}:{matter.item}"
    return {"role": role, "unit": unit, "full_number": 0, "wanted": 0}


def _renew_training(conn: Connection, content: StudyContent) -> None:
    """Update training examples from their file, also for people who are in training."""
    ids = conn.execute(
        select(t.stage.c.id, t.stage.c.place).where(t.stage.c.study_id == content.plan.id)
    ).all()
    for row in ids:
        stage = content.plan.stages[row.place]
        here = (t.task.c.stage_id == row.id, t.task.c.role == "training")
        known = set(conn.execute(select(t.task.c.key).where(*here)).scalars())
        conn.execute(update(t.task).where(*here).values(state="void"))
        for rank, matter in enumerate(content.training[stage.name]):
            values = {"lane": 0, "rank": rank, "state": "open", **_stored(row.id, matter)}
            if matter.key in known:
                same = *here, t.task.c.key == matter.key
                conn.execute(update(t.task).where(*same).values(values))
            else:
                conn.execute(insert(t.task).values(**values, **_extra("training", stage, matter)))


def due(share: float, items: int, seed: int, *path: str) -> int:
    """How many extras are due for a person after this many items.

    One in every `1 / share` items is followed by an extra, at a position drawn by seed, so that
    extras are spread evenly but cannot be predicted.

    >>> [due(0.25, items, 0, "p-1") for items in (0, 4, 8, 40)]
    [0, 1, 2, 10]
    """
    if share <= 0:
        return 0
    length = max(1, round(1 / share))
    blocks, rest = divmod(items, length)
    place = 1 + int(seeds.unit(seed, "extra", *path, blocks) * length)
    return blocks + int(rest >= place)


def sample_matters(stages: Sequence[Stage], items: Sequence[Item]) -> Iterator[Matter]:
    """Matters of the last stage, as if the first option had always been chosen before."""
    question = stages[-1].question
    if len(stages) == 1:
        for item in items:
            yield from question.matters(item)
        return
    if isinstance(question, Following):
        for earlier in sample_matters(stages[:-1], items):
            yield from question.follow(earlier, "0")


def attention_checks(stages: Sequence[Stage], items: Sequence[Item], seed: int) -> list[Matter]:
    """Attention checks for the last stage.

    A check combines the pictures of one item with the texts of another, so that nobody sees an item
    early, and asks for an option drawn by seed.
    """
    stage = stages[-1]
    matters = list(sample_matters(stages, items))
    draw = seeds.rng(seed, "checks", stage.name)
    checks = []
    for k in range(min(CHECKS, len(matters))):
        pictures, texts = (matters[int(i)] for i in draw.integers(len(matters), size=2))
        form = stage.question.form(replace(pictures, captions=texts.captions))
        keys = [option.key for option in (*form.options, *form.fixed)]
        asked = keys[int(draw.integers(len(keys)))]
        checks.append(
            Matter(f"check-{k + 1}", "check", pictures.images, texts.captions, None, check=asked)
        )
    return checks


def outcome_of(keep: str, full: int, votes: Sequence[Vote], options: frozenset[str]) -> TaskOutcome:
    """The outcome of an item.

    If the truth is unknown, the item is kept if people agreed on one of `options`, the things that
    could be picked, and not on "none" or "both"; if there is nothing to pick (ratings), it is kept.
    """
    counted = votes[:1] if keep == "first" else votes
    needed = _needed(keep, full)
    top = Counter(one.choice for one in counted).most_common(1)
    chosen = next((choice for choice, number in top if number >= needed), None)
    if all(one.right is not None for one in votes):
        return TaskOutcome(sum(one.right is True for one in counted) >= needed, chosen)
    return TaskOutcome(not options or chosen in options, chosen)


def missing(keep: str, full: int, votes: Sequence[Vote], truth_known: bool) -> int:
    """How many more judgements to request before deciding again; 0 once the outcome is certain.

    It is the smallest number that could decide the task, so that nobody is asked unnecessarily.
    """
    left, needed = full - len(votes), _needed(keep, full)
    if left <= 0 or (keep == "first" and votes):
        return 0
    if truth_known:
        right = sum(one.right is True for one in votes)
        wrong = len(votes) - right
        return max(0, min(needed - right, full - needed + 1 - wrong))
    top = max(Counter(one.choice for one in votes).values(), default=0)
    if top >= needed or top + left < needed:
        return 0
    return 1 if keep == "all" else min(needed - top, left)


def _needed(keep: str, full: int) -> int:
    return {"majority": full // 2 + 1, "all": full, "first": 1}[keep]
