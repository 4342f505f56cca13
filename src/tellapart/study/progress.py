"""A study's progress for its owner: stages, pages of items, and people."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from sqlalchemy import Connection, case, func, select

from tellapart.errors import BadInput, UnknownName
from tellapart.study.judgements import ask_again, measured_times
from tellapart.study.store import schema as t
from tellapart.study.study import OpenStage, OpenStudy
from tellapart.text.table_text import aligned

PAGE = 100
STATES = ("open", "closed", "void")
ROLES = {"training": "training", "check": "checks", "gold": "gold"}
FIELDS = ("code", "label", "source", "state", "consented_at", "seen_at")
_T = t.task.c
_ROW = select(
    _T.id, t.stage.c.name, _T.matter, _T.state, _T.wanted, _T.given, _T.held, _T.kept, _T.chosen
).join(t.stage, t.stage.c.id == _T.stage_id)


@dataclass(frozen=True, slots=True)
class StageStatus:
    """A stage's progress: its items, those closed and kept, and its judgements."""

    stage: str
    ask: str
    items: int
    closed: int
    kept: int
    wanted: int
    given: int
    held: int


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """A study's progress; `people` are counts by state."""

    study: str
    stages: tuple[StageStatus, ...]
    people: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """For `--json` and the owner's page."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(
            f"{one.stage}: {one.given:,} of {one.wanted:,} judgements, "
            f"{one.closed:,} of {one.items:,} items done, {one.kept:,} kept"
            for one in self.stages
        )


def read_status(conn: Connection, study: OpenStudy) -> StudyStatus:
    """Counts of tasks, judgements and people, stage by stage."""
    stages = tuple(_stage_status(conn, stage) for stage in study.stages)
    people = conn.execute(
        select(t.person.c.state, func.count().label("people"))
        .where(t.person.c.study_id == study.plan.id)
        .group_by(t.person.c.state)
    )
    return StudyStatus(study.plan.name, stages, {one.state: one.people for one in people})


def _stage_status(conn: Connection, stage: OpenStage) -> StageStatus:
    sums = {
        "closed": case((_T.state == "closed", 1), else_=0),
        "kept": case((_T.kept.is_(True), 1), else_=0),
        "wanted": _T.wanted,
        "given": _T.given,
        "held": _T.held,
    }
    row = conn.execute(
        select(
            func.count().label("items"),
            *(func.coalesce(func.sum(value), 0).label(name) for name, value in sums.items()),
        ).where(_T.stage_id == stage.id, _T.role == "item")
    ).one()
    counts = {name: int(value) for name, value in row._asdict().items()}
    return StageStatus(stage=stage.rules.name, ask=stage.rules.ask, **counts)


def look_at_items(
    conn: Connection, study: OpenStudy, stage: str = "", state: str = "", after: int = 0,
    *, truth: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """A page of items, optionally of one stage or state, after a given task.

    With `truth`, each item includes its right answers.
    """
    names = [one.rules.name for one in study.stages]
    if stage and stage not in names:
        raise UnknownName("stage", stage, names)
    if state and state not in STATES:
        raise BadInput(f"state {state!r}", allowed=", ".join(STATES))
    chosen = _ROW.where(t.stage.c.study_id == study.plan.id, _T.role == "item", _T.id > after)
    if stage:
        chosen = chosen.where(t.stage.c.name == stage)
    if state:
        chosen = chosen.where(_T.state == state)
    rows = conn.execute(chosen.order_by(_T.id).limit(PAGE + 1)).all()
    more = rows[PAGE - 1].id if len(rows) > PAGE else None
    return {"items": [_item_json(row, truth=truth) for row in rows[:PAGE]], "after": more}


def reopen_item(conn: Connection, study: OpenStudy, task: int) -> dict[str, Any]:
    """Ask for one more judgement of an item, even if it is closed."""
    mine = _ROW.where(t.stage.c.study_id == study.plan.id, _T.role == "item", _T.id == task)
    # locked, so that a judgement that arrives now is counted either before or after, not in between
    row = conn.execute(mine.with_for_update(of=t.task)).first()
    if row is None or row.state == "void":
        raise UnknownName("item", str(task), [])
    ask_again(conn, task)
    study.record(conn, "reopened", task=task)
    return _item_json(conn.execute(mine).one())


def picture_of(conn: Connection, study: OpenStudy, task: int, place: int) -> str:
    """The id of an item's picture, by its index."""
    row = conn.execute(
        _ROW.where(t.stage.c.study_id == study.plan.id, _T.role == "item", _T.id == task)
    ).first()
    images = json.loads(row.matter)["images"] if row is not None else []
    if place >= len(images):
        raise UnknownName("picture", f"{task}-{place}", [])
    return str(images[place])


def _item_json(row: Any, *, truth: bool = False) -> dict[str, Any]:
    matter = json.loads(row.matter)
    names = ("state", "wanted", "given", "held", "kept", "chosen")
    return {
        "task": row.id,
        "stage": row.name,
        "item": matter["item"],
        "question": matter["question"],
        "pictures": len(matter["images"]),
        "captions": matter["captions"],
        **({"right": sorted(matter["truth"][0]) if matter["truth"] else []} if truth else {}),
        **{name: getattr(row, name) for name in names},
    }


@dataclass(frozen=True, slots=True)
class StudyPeople:
    """Everyone in a study; shares are [right, of]."""

    people: tuple[dict[str, Any], ...]

    def to_json(self) -> list[dict[str, Any]]:
        """For `--json`."""
        return list(self.people)

    def __str__(self) -> str:
        heads = ("person", "label", "from", "state", "judgements", "seconds", "training", "checks",
                 "gold", "with majority")  # fmt: skip
        lines = [heads, *map(_cells, self.people)]
        return aligned(lines, range(4)) if self.people else "nobody yet"


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    took = one["median_milliseconds"]
    shares = (one[name] for name in ("training", "checks", "gold", "with_majority"))
    return (
        one["code"],
        one["label"],
        one["source"],
        one["state"],
        f"{one['judgements']:,}",
        "" if took is None else f"{took / 1000:.1f}",
        *(f"{right} of {of}" if of else "" for right, of in shares),
    )


def crew(conn: Connection, study: OpenStudy, code: str = "") -> list[dict[str, Any]]:
    """Everyone (or one person), in the order in which they joined.

    Shares are [right, of]; `with_majority` counts closed items on which enough people agreed.
    """
    mine = [t.person.c.study_id == study.plan.id]
    if code:
        mine.append(t.person.c.code == code)
    people = conn.execute(select(t.person).where(*mine).order_by(t.person.c.id)).all()
    judged: dict[int, list[tuple[Any, int]]] = {one.id: [] for one in people}
    a, j = t.assignment.c, t.judgement.c
    rows = conn.execute(
        select(
            j.person_id, j.choice, j.is_right, j.answered_at, a.reserved_at, _T.role, _T.state,
            _T.chosen,
        )
        .join(t.assignment, a.id == j.assignment_id)
        .join(t.task, _T.id == j.task_id)
        .where(j.person_id.in_(judged))
        .order_by(j.answered_at, j.assignment_id)
    )  # fmt: skip
    for row, took in measured_times(rows):
        judged[row.person_id].append((row, took))
    return [
        {**{name: getattr(one, name) for name in FIELDS}, **_quality(judged[one.id])}
        for one in people
    ]


def _quality(timed: list[tuple[Any, int]]) -> dict[str, Any]:
    judged = [row for row, _ in timed]
    items = [row for row in judged if row.role == "item"]
    times = [took for row, took in timed if row.role == "item"]
    settled = [row for row in items if row.state == "closed" and row.chosen is not None]
    shares = {}
    for role, name in ROLES.items():
        known = [row.is_right for row in judged if row.role == role and row.is_right is not None]
        shares[name] = [sum(known), len(known)]
    agreeing = sum(row.choice == row.chosen for row in settled)
    return {
        "judgements": len(items),
        "median_milliseconds": int(median(times)) if times else None,
        **shares,
        "with_majority": [agreeing, len(settled)],
    }
