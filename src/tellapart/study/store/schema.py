"""The schema: the tables as the code sees them, and the steps from each version to the next.

Times are whole milliseconds since 1970. JSON is kept as text, which both databases treat alike.

Numbered steps in plain SQL and no migration tool: a study's database is opened by its owner's next
command, often a file beside the study, so it must bring itself up to date without configuration,
on both databases, in the transaction that opens it. Steps are never edited once released; the
tables are what they add up to, which a test holds against the real thing.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    Connection,
    ForeignKey,
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
"""SQLite gives out row numbers only for a plain INTEGER key."""


def _key() -> Column[int]:
    return Column("id", Key, primary_key=True)


def _refers(name: str, to: str, **more: bool) -> Column[int]:
    return Column(name, Key, ForeignKey(to, ondelete="CASCADE"), **more)  # type: ignore[arg-type]


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
    Column("study_id", Text, ForeignKey("study.id", ondelete="CASCADE"), nullable=False),
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
    Column("lane", Integer, nullable=False),  # tasks are given out lane by lane,
    Column("rank", Integer, nullable=False),  # in this order
    Column("matter", Text, nullable=False),
    _refers("parent_id", "task.id"),  # the task of an earlier stage that it follows from
    Column("state", Text, nullable=False, server_default="open"),  # open, closed, void
    Column("full_number", Integer, nullable=False),  # judgements that it gets at most
    Column("wanted", Integer, nullable=False),  # judgements asked for so far
    Column("given", Integer, nullable=False, server_default="0"),
    Column("held", Integer, nullable=False, server_default="0"),  # reserved, not yet answered
    Column("kept", Boolean),  # what became of a closed one
    Column("chosen", Text),
    Column("closed_at", BigInteger),
    # others may take it. A truth value and not a number, so that an index on it seldom changes
    Column("free", Boolean, Computed("state = 'open' AND given + held < wanted", persisted=True)),
    UniqueConstraint("stage_id", "role", "key"),
    Index("task_free", "stage_id", "lane", "rank", sqlite_where=text("free"),
          postgresql_where=text("free")),
    Index("task_parent", "parent_id"),
)  # fmt: skip

person = Table(
    "person",
    metadata,
    _key(),
    Column("study_id", Text, ForeignKey("study.id", ondelete="CASCADE"), nullable=False),
    Column("code", Text, nullable=False),  # what exports call the person
    Column("label", Text, nullable=False, server_default=""),  # the owner's own note
    Column("source", Text, nullable=False),  # link, prolific
    Column("token_hash", Text),
    Column("pseudonym", Text),  # of the id that a platform gave
    Column("session_pseudonym", Text),
    Column("state", Text, nullable=False, server_default="active"),  # active, excluded, revoked
    Column("made_at", BigInteger, nullable=False),
    Column("consented_at", BigInteger),
    Column("seen_at", BigInteger),
    _refers("stage_id", "stage.id"),  # where the person works now
    Column("trained", Integer, nullable=False, server_default="0"),
    Column("served", Integer, nullable=False, server_default="0"),  # items in this stage
    Column("checks", Integer, nullable=False, server_default="0"),
    Column("golds", Integer, nullable=False, server_default="0"),
    Column("last_number", Integer, nullable=False, server_default="0"),
    UniqueConstraint("study_id", "code"),
    UniqueConstraint("token_hash"),
    UniqueConstraint("study_id", "pseudonym"),
)

session = Table(
    "session",
    metadata,
    Column("hash", Text, primary_key=True),
    Column("study_id", Text, ForeignKey("study.id", ondelete="CASCADE"), nullable=False),
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
    Column("task_id", Key, nullable=False),  # as the assignment has it
    Column("person_id", Key, nullable=False),
    Column("choice", Text, nullable=False),
    Column("word", Integer),
    Column("is_right", Boolean),
    Column("answered_at", BigInteger, nullable=False),
    Column("milliseconds", BigInteger),  # from shown to answered, as the page says
    Column("revisions", Integer, nullable=False, server_default="0"),
    Column("void", Boolean, nullable=False, server_default=text("false")),
    Index("judgement_task", "task_id"),
    Index("judgement_person", "person_id"),
)  # fmt: skip

event = Table(
    "event",
    metadata,
    _key(),
    Column("study_id", Text, ForeignKey("study.id", ondelete="CASCADE"), nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("what", Text, nullable=False),
    Column("who", Text, nullable=False, server_default=""),
    Column("detail", Text, nullable=False, server_default="{}"),
    Index("event_study", "study_id"),
)


SQL_TYPES = {
    "sqlite": {"key": "INTEGER PRIMARY KEY", "number": "INTEGER", "roomy": ""},
    "postgresql": {
        "key": "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        "number": "BIGINT",
        "roomy": " WITH (fillfactor = 70)",
    },
}
"""How the databases spell what they do not spell alike; `roomy` keeps space in each page for rows
that change often."""
LOCK = 7_265_110_214
"""PostgreSQL: held while a database is brought up to date, so that two servers take turns."""

FIRST = """
CREATE TABLE study (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, seed BIGINT NOT NULL, items_sha256 TEXT NOT NULL,
  made_at BIGINT NOT NULL);

CREATE TABLE stage (
  id {key}, study_id TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE,
  place INTEGER NOT NULL, name TEXT NOT NULL, ask TEXT NOT NULL, rules TEXT NOT NULL,
  UNIQUE (study_id, place));

CREATE TABLE task (
  id {key}, stage_id {number} NOT NULL REFERENCES stage(id) ON DELETE CASCADE,
  role TEXT NOT NULL, key TEXT NOT NULL, unit TEXT NOT NULL,
  lane INTEGER NOT NULL, rank INTEGER NOT NULL, matter TEXT NOT NULL,
  parent_id {number} REFERENCES task(id) ON DELETE CASCADE,
  state TEXT NOT NULL DEFAULT 'open', full_number INTEGER NOT NULL, wanted INTEGER NOT NULL,
  given INTEGER NOT NULL DEFAULT 0, held INTEGER NOT NULL DEFAULT 0,
  kept BOOLEAN, chosen TEXT, closed_at BIGINT,
  free BOOLEAN GENERATED ALWAYS AS (state = 'open' AND given + held < wanted) STORED,
  UNIQUE (stage_id, role, key)){roomy};
CREATE INDEX task_free ON task (stage_id, lane, rank) WHERE free;
CREATE INDEX task_parent ON task (parent_id);

CREATE TABLE person (
  id {key}, study_id TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE,
  code TEXT NOT NULL, label TEXT NOT NULL DEFAULT '', source TEXT NOT NULL,
  token_hash TEXT, pseudonym TEXT, session_pseudonym TEXT,
  state TEXT NOT NULL DEFAULT 'active', made_at BIGINT NOT NULL, consented_at BIGINT,
  seen_at BIGINT, stage_id {number} REFERENCES stage(id) ON DELETE CASCADE,
  trained INTEGER NOT NULL DEFAULT 0, served INTEGER NOT NULL DEFAULT 0,
  checks INTEGER NOT NULL DEFAULT 0, golds INTEGER NOT NULL DEFAULT 0,
  last_number INTEGER NOT NULL DEFAULT 0,
  UNIQUE (study_id, code), UNIQUE (token_hash), UNIQUE (study_id, pseudonym)){roomy};

CREATE TABLE session (
  hash TEXT PRIMARY KEY, study_id TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE,
  person_id {number} REFERENCES person(id) ON DELETE CASCADE,
  made_at BIGINT NOT NULL, expires_at BIGINT NOT NULL);
CREATE INDEX session_person ON session (person_id);

CREATE TABLE assignment (
  id {key}, person_id {number} NOT NULL REFERENCES person(id) ON DELETE CASCADE,
  task_id {number} NOT NULL REFERENCES task(id) ON DELETE CASCADE,
  number INTEGER NOT NULL, unit TEXT NOT NULL, drawn TEXT NOT NULL, state TEXT NOT NULL,
  reserved_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
  UNIQUE (person_id, number), UNIQUE (person_id, unit));
CREATE INDEX assignment_task ON assignment (task_id);
CREATE INDEX assignment_open ON assignment (expires_at) WHERE state = 'open';
CREATE INDEX assignment_waiting ON assignment (person_id) WHERE state IN ('open', 'expired');

CREATE TABLE judgement (
  assignment_id {number} PRIMARY KEY REFERENCES assignment(id) ON DELETE CASCADE,
  task_id {number} NOT NULL, person_id {number} NOT NULL,
  choice TEXT NOT NULL, word INTEGER, is_right BOOLEAN, answered_at BIGINT NOT NULL,
  milliseconds BIGINT, revisions INTEGER NOT NULL DEFAULT 0, void BOOLEAN NOT NULL DEFAULT false);
CREATE INDEX judgement_task ON judgement (task_id);
CREATE INDEX judgement_person ON judgement (person_id);

CREATE TABLE event (
  id {key}, study_id TEXT NOT NULL REFERENCES study(id) ON DELETE CASCADE,
  at BIGINT NOT NULL, what TEXT NOT NULL, who TEXT NOT NULL DEFAULT '',
  detail TEXT NOT NULL DEFAULT '{{}}');
CREATE INDEX event_study ON event (study_id);
"""

STEPS = (FIRST,)
"""Step k takes a database from version k to k + 1; an empty one has version 0."""


def migrate(connection: Connection, to: int = len(STEPS)) -> None:
    """Bring a database to a version (the latest), from whichever it has."""
    name = connection.dialect.name
    if name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    if not inspect(connection).has_table("schema_version"):
        connection.exec_driver_sql("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        connection.execute(insert(schema_version).values(version=0))
    version = connection.execute(select(schema_version.c.version)).scalar_one()
    if version > len(STEPS):
        raise BadInput(
            f"the database is of version {version}",
            allowed=f"up to {len(STEPS)}",
            todo="use the version of tellapart that made it, or a newer one",
        )
    for step in STEPS[version:to]:
        for statement in step.format(**SQL_TYPES[name]).split(";"):
            if statement.strip():
                connection.exec_driver_sql(statement)
    if version < to:
        connection.execute(update(schema_version).values(version=to))
