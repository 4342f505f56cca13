-- Version 1 of a study's database as it was released; {key} and so on differ by database.
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
