"""The database: its schema, its versions, and jobs that run together."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import inspect, select, text, update

from tellapart.errors import BadInput
from tellapart.study.store import schema as t
from tellapart.study.store.database import Database, Gone, open_database, sqlite_url
from tellapart.study.store.schema import STEPS, migrate


@pytest.fixture
def opened(database):
    found = open_database(database)
    yield found
    found.close()


def study_row(name: str) -> dict[str, object]:
    return {"id": name, "name": name, "seed": 0, "items_sha256": "", "made_at": 0}


def add(name: str):
    return lambda conn: conn.execute(t.study.insert().values(**study_row(name))) and None


def studies(database: Database) -> list[str]:
    return sorted(database.read(lambda c: c.execute(select(t.study.c.id)).scalars().all()).result())


def test_migrated_tables_are_those_that_the_code_expects(opened):
    opened.submit(migrate).result()
    found = inspect(opened.engine)
    assert set(found.get_table_names()) == set(t.metadata.tables)
    for table in t.metadata.tables.values():
        columns = {column["name"]: column for column in found.get_columns(table.name)}
        assert set(columns) == set(table.c.keys())
        for column in table.c:
            nullable = column.nullable and not column.primary_key
            there = columns[column.name]["nullable"]
            assert there == nullable or column.primary_key or column.computed is not None, column
        uniques = {tuple(u["column_names"]) for u in found.get_unique_constraints(table.name)}
        expected = {
            tuple(c.name for c in one.columns)
            for one in table.constraints
            if type(one).__name__ == "UniqueConstraint"
        }
        assert uniques == expected
        indexes = {i["name"] for i in found.get_indexes(table.name) if not i["unique"]}
        assert indexes == {index.name for index in table.indexes}
        expected = {(key.parent.name, key.column.table.name) for key in table.foreign_keys}
        assert _cascading(opened, table.name) == expected
        assert all(key.ondelete == "CASCADE" for key in table.foreign_keys)


def _cascading(opened: Database, table: str) -> set[tuple[str, str]]:
    """(column, table) of all references that delete with what they refer to."""
    if opened.engine.dialect.name == "sqlite":
        pragma = text(f"PRAGMA foreign_key_list({table})")
        rows = opened.read(lambda c: c.execute(pragma).all()).result()
        return {(row[3], row[2]) for row in rows if row[6] == "CASCADE"}
    keys = inspect(opened.engine).get_foreign_keys(table)
    return {
        (key["constrained_columns"][0], key["referred_table"])
        for key in keys
        if key["options"].get("ondelete") == "CASCADE"
    }


def test_every_version_can_be_brought_to_the_latest_with_its_data(opened):
    for version in range(1, len(STEPS) + 1):
        opened.submit(lambda conn, version=version: migrate(conn, to=version)).result()
        stands = opened.read(lambda c: c.execute(select(t.schema_version.c.version)).scalar_one())
        assert stands.result() == version
        if version == 1:
            opened.submit(add("kept")).result()
    opened.submit(migrate).result()
    assert studies(opened) == ["kept"]


def test_a_newer_database_is_refused(opened):
    opened.submit(migrate).result()
    opened.submit(lambda c: c.execute(update(t.schema_version).values(version=99))).result()
    with pytest.raises(BadInput, match="version 99"):
        opened.submit(migrate).result()


def test_free_tasks_are_found_through_their_index(opened):
    opened.submit(migrate).result()
    query = (
        "SELECT id FROM task WHERE stage_id = 1 AND free AND lane = 3 ORDER BY lane, rank LIMIT 1"
    )
    if opened.engine.dialect.name == "sqlite":
        plan = opened.read(lambda c: c.execute(text(f"EXPLAIN QUERY PLAN {query}")).all()).result()
    else:
        off = text("SET LOCAL enable_seqscan = off")
        plan = opened.read(
            lambda c: (c.execute(off), c.execute(text(f"EXPLAIN {query}")).all())[1]
        ).result()
    assert "task_free" in str(plan)


def test_jobs_from_many_threads_all_count(opened):
    opened.submit(migrate).result()
    results = []

    def put(k: int) -> None:
        results.append(opened.submit(add(f"s{k}")).result())

    threads = [threading.Thread(target=put, args=(k,)) for k in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(studies(opened)) == len(results) == 40


def test_a_job_that_fails_leaves_the_others_alone(opened):
    opened.submit(migrate).result()
    gate = threading.Event()

    def wait(_conn):
        gate.wait(5)

    def refuse(conn):
        add("half")(conn)
        raise BadInput("no")

    def crash(conn):
        add("quarter")(conn)
        raise ZeroDivisionError

    def double(conn):
        add("one")(conn)
        add("one")(conn)

    first = opened.submit(wait)
    futures = [opened.submit(job) for job in (add("a"), refuse, add("b"), crash, double, add("c"))]
    gate.set()
    first.result()
    assert [future.exception() and type(future.exception()) for future in futures] == [
        None, BadInput, None, ZeroDivisionError, Gone, None,
    ]  # fmt: skip
    assert studies(opened) == ["a", "b", "c"]


def test_a_job_that_was_called_off_does_not_run(tmp_path: Path):
    opened = open_database(sqlite_url(tmp_path / "x.sqlite"))
    opened.submit(migrate).result()
    gate = threading.Event()
    first = opened.submit(lambda _conn: gate.wait(5))
    off = opened.submit(add("never"))
    assert off.cancel()
    gate.set()
    first.result()
    opened.submit(add("after")).result()
    assert studies(opened) == ["after"]
    opened.close()


def test_a_full_disk_is_told_and_what_was_acknowledged_stays(tmp_path: Path):
    opened = open_database(sqlite_url(tmp_path / "x.sqlite"))
    opened.submit(migrate).result()
    opened.submit(add("before")).result()
    filled = text("INSERT INTO event (study_id, at, what, detail) VALUES ('before', 0, 'x', :d)")

    def too_much(conn):
        pages = conn.execute(text("PRAGMA page_count")).scalar_one()
        conn.execute(text(f"PRAGMA max_page_count = {pages + 2}"))
        conn.execute(filled, {"d": "x" * 100_000})

    gate = threading.Event()
    first = opened.submit(lambda _conn: gate.wait(5))
    futures = [opened.submit(job) for job in (add("with"), too_much, add("too"))]
    gate.set()
    first.result()
    assert isinstance(futures[1].exception(), Gone)
    assert "full" in str(futures[1].exception())
    assert [future.exception() for future in (futures[0], futures[2])] == [None, None]
    assert studies(opened) == ["before", "too", "with"]
    opened.close()


def test_a_postgresql_that_went_away_and_came_back_is_used_again(postgres):
    opened = open_database(postgres.database())
    opened.submit(migrate).result()
    opened.submit(add("before")).result()
    postgres.stop("immediate")
    with pytest.raises(Gone):
        opened.submit(add("while")).result()
    postgres.start()
    opened.submit(add("after")).result()
    assert studies(opened) == ["after", "before"]
    opened.close()


def test_a_database_that_nobody_knows_is_refused():
    with pytest.raises(BadInput, match="no database that studies know"):
        open_database("mysql://x/y")
