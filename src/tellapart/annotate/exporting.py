"""What comes out of a study: every judgement as a row of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from sqlalchemy import Connection, select

from tellapart.annotate.opening import OpenStudy
from tellapart.annotate.store import tables as t
from tellapart.tables import whole_file

COLUMNS: dict[str, Any] = {
    "stage": pl.String, "ask": pl.String, "role": pl.String, "item": pl.String,
    "question": pl.String, "person": pl.String, "number": pl.Int32, "choice": pl.String,
    "word": pl.Int32, "right": pl.Boolean, "order": pl.List(pl.Int32), "answered_at": pl.Int64,
    "milliseconds": pl.Int64, "revisions": pl.Int32, "void": pl.Boolean, "task": pl.String,
}  # fmt: skip


def judgements(conn: Connection, study: OpenStudy) -> pl.DataFrame:
    """All judgements, those of excluded people marked as void, in the order they were given."""
    task, given, said, person = t.task.c, t.assignment.c, t.judgement.c, t.person.c
    rows = conn.execute(
        select(
            t.stage.c.name, t.stage.c.ask, task.role, task.matter, task.key, person.code,
            given.number, given.drawn, said.choice, said.word, said.is_right, said.answered_at,
            said.milliseconds, said.revisions, said.void,
        )
        .select_from(t.judgement)
        .join(t.assignment, given.id == said.assignment_id)
        .join(t.task, task.id == given.task_id)
        .join(t.stage, t.stage.c.id == task.stage_id)
        .join(t.person, person.id == given.person_id)
        .where(t.stage.c.study_id == study.plan.id)
        .order_by(said.answered_at, said.assignment_id)
    )  # fmt: skip
    found = []
    for row in rows:
        matter = json.loads(row.matter)
        found.append(
            (
                row.name, row.ask, row.role, matter["item"], matter["question"], row.code,
                row.number, row.choice, row.word, row.is_right, json.loads(row.drawn),
                row.answered_at, row.milliseconds, row.revisions, row.void, row.key,
            )
        )  # fmt: skip
    return pl.DataFrame(found, schema=COLUMNS, orient="row")


def write_judgements(study: OpenStudy, path: Path) -> int:
    """Write all judgements as CSV, Parquet or JSONL, by the file's name; says how many."""
    table = study.database.read(lambda conn: judgements(conn, study)).result()
    with whole_file(path) as partial:
        if path.suffix == ".csv":
            order = pl.col("order").cast(pl.List(pl.String)).list.join(" ")
            table.with_columns(order).write_csv(partial)
        elif path.suffix == ".jsonl":
            table.write_ndjson(partial)
        else:
            table.write_parquet(partial, compression="zstd", statistics=False)
    return table.height
