"""The schema: the tables of a study's database, and the migrations from older versions.

Times are whole milliseconds since 1970. JSON is stored as text, which both databases treat alike.

A new database gets the tables below directly; an older one is migrated by numbered functions. There
is no migration tool: a study's database, often a file beside the study, is opened by its owner's
next command, so it must update itself without configuration, on both databases, in the transaction
that opens it. Migrations are never edited once released: a test compares the tables below with
every released version after migration.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    Connection,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    text,
    update,
)

from tellapart.errors import BadInput

metadata = MetaData()
Key = BigInteger().with_variant(Integer(), "sqlite")
"""SQLite assigns row numbers only to a plain INTEGER key."""
ZERO = text("0")
ROOMY = {"fillfactor": 70}
"""PostgreSQL: leave space in each page, so that rows that change often can stay in it."""


def _key() -> Column[int]:
    return Column("id", Key, Identity(), primary_key=True)


def _refers(name: str, to: str, **more: bool) -> Column[int]:
    return Column(name, Key, ForeignKey(to, ondelete="CASCADE"), **more)  # type: ignore[arg-type]


def _of_study() -> Column[str]:
    return Column("study_id", Text, ForeignKey("study.id", ondelete="CASCADE"), nullable=False)


schema_version = Table("schema_version", metadata, Column("version", Integer, nullable=False))

study = Table(
    "study",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("items_sha256", Text, nullable=False),
    Column("made_at", BigInteger, nullable=False),
)

stage = Table(
    "stage",
    metadata,
    _key(),
    _of_study(),
    Column("place", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("ask", Text, nullable=False),
    Column("rules", Text, nullable=False),
    UniqueConstraint("study_id", "place"),
)

task = Table(
    "task",
    metadata,
    _key(),
    _refers("stage_id", "stage.id", nullable=False),
    Column("role", Text, nullable=False),  # item, gold, check, training
    Column("key", Text, nullable=False),
    Column("unit", Text, nullable=False),  # what nobody sees twice
    Column("lane", Integer, nullable=False),  # tasks are assigned lane by lane,
    Column("rank", Integer, nullable=False),  # in this order
    Column("matter", Text, nullable=False),
    _refers("parent_id", "task.id"),  # the task of an earlier stage that led to it
    Column("state", Text, nullable=False, server_default="open"),  # open, closed, void
    Column("full_number", Integer, nullable=False),  # maximum number of judgements
    Column("wanted", Integer, nullable=False),  # judgements requested so far
    Column("given", Integer, nullable=False, server_default=ZERO),
    Column("held", Integer, nullable=False, server_default=ZERO),  # reserved, not yet answered
    Column("kept", Boolean),  # outcome of a closed task
    Column("chosen", Text),
    Column("closed_at", BigInteger),
    # others may take it; a boolean rather than a number, so that an index on it rarely changes
    Column("free", Boolean, Computed("state = 'open' AND given + held < wanted", persisted=True)),
    UniqueConstraint("stage_id", "role", "key"),
    Index("task_free", "stage_id", "lane", "rank", sqlite_where=text("free"),
          postgresql_where=text("free")),
    Index("task_parent", "parent_id"),
    postgresql_with=ROOMY,
)  # fmt: skip

person = Table(
    "person",
    metadata,
    _key(),
    _of_study(),
    Column("code", Text, nullable=False),  # the person's name in exports
    Column("label", Text, nullable=False, server_default=""),  # the owner's own note
    Column("source", Text, nullable=False),  # link, prolific
    Column("token_hash", Text),
    Column("pseudonym", Text),  # of the person's id on a platform
    Column("session_pseudonym", Text),
    Column("state", Text, nullable=False, server_default="active"),  # active, excluded, revoked
    Column("made_at", BigInteger, nullable=False),
    Column("consented_at", BigInteger),
    Column("seen_at", BigInteger),
    _refers("stage_id", "stage.id"),  # where the person works now
    Column("trained", Integer, nullable=False, server_default=ZERO),
    Column("served", Integer, nullable=False, server_default=ZERO),  # items in this stage
    Column("checks", Integer, nullable=False, server_default=ZERO),
    Column("golds", Integer, nullable=False, server_default=ZERO),
    Column("last_number", Integer, nullable=False, server_default=ZERO),
    UniqueConstraint("study_id", "code"),
    UniqueConstraint("token_hash"),
    UniqueConstraint("study_id", "pseudonym"),
    postgresql_with=ROOMY,
)

session = Table(
    "session",
    metadata,
    Column("hash", Text, primary_key=True),
    _of_study(),
    _refers("person_id", "person.id"),  # none: the owner
    Column("made_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("session_person", "person_id"),
)

assignment = Table(
    "assignment",
    metadata,
    _key(),
    _refers("person_id", "person.id", nullable=False),
    _refers("task_id", "task.id", nullable=False),
    Column("number", Integer, nullable=False),  # the person's first, second, ...
    Column("unit", Text, nullable=False),
    Column("drawn", Text, nullable=False),  # the order of options
    Column("state", Text, nullable=False),  # open, done, expired, lost
    Column("reserved_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    UniqueConstraint("person_id", "number"),
    UniqueConstraint("person_id", "unit"),
    Index("assignment_task", "task_id"),
    Index("assignment_open", "expires_at", sqlite_where=text("state = 'open'"),
          postgresql_where=text("state = 'open'")),
    Index("assignment_waiting", "person_id", sqlite_where=text("state IN ('open', 'expired')"),
          postgresql_where=text("state IN ('open', 'expired')")),
)  # fmt: skip

judgement = Table(
    "judgement",
    metadata,
    Column("assignment_id", Key, ForeignKey("assignment.id", ondelete="CASCADE"),
           primary_key=True, autoincrement=False),
    Column("task_id", Key, nullable=False),  # same as the assignment's
    Column("person_id", Key, nullable=False),
    Column("choice", Text, nullable=False),
    Column("word", Integer),
    Column("is_right", Boolean),
    Column("answered_at", BigInteger, nullable=False),
    Column("milliseconds", BigInteger),  # from shown to answered, as reported by the page;
    # the server's own time follows from `answered_at` and the assignment's `reserved_at`
    Column("revisions", Integer, nullable=False, server_default=ZERO),
    Column("void", Boolean, nullable=False, server_default=text("false")),
    Index("judgement_task", "task_id"),
    Index("judgement_person", "person_id"),
)  # fmt: skip

event = Table(
    "event",
    metadata,
    _key(),
    _of_study(),
    Column("at", BigInteger, nullable=False),
    Column("what", Text, nullable=False),
    Column("who", Text, nullable=False, server_default=""),
    Column("detail", Text, nullable=False, server_default="{}"),
    Index("event_study", "study_id"),
)


STEPS: tuple[Callable[[Connection], None], ...] = ()
"""Migration k takes a database from version k + 1 to k + 2; a new one has the latest tables."""
VERSION = len(STEPS) + 1
LOCK = 7_265_110_214
"""PostgreSQL: held during a migration, so that two servers cannot migrate at the same time."""


def migrate(connection: Connection) -> None:
    """Create the tables of a new database, or migrate an older one."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    if not inspect(connection).has_table("schema_version"):
        metadata.create_all(connection)
        connection.execute(insert(schema_version).values(version=VERSION))
    version = connection.execute(select(schema_version.c.version)).scalar_one()
    if version > VERSION:
        raise BadInput(
            f"the database has version {version}",
            allowed=f"up to {VERSION}",
            todo="use the version of tellapart that created it, or a newer one",
        )
    for step in STEPS[version - 1 :]:
        step(connection)
    if version < VERSION:
        connection.execute(update(schema_version).values(version=VERSION))
