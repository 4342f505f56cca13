"""Sessions: how many, how long, whose; and what is saved of a person is theirs alone."""

from __future__ import annotations

import pytest
from tests.study.crowd import HOUR, join, rows

from tellapart.study.sessions import (
    AT_ONCE,
    DAYS,
    NotAllowed,
    begin_session,
    consent,
    end_session,
    seat_of,
)
from tellapart.study.store import schema as t


def opens(study, session: str) -> bool:
    try:
        study.database.submit(lambda conn: seat_of(conn, study, session)).result()
    except NotAllowed:
        return False
    return True


def begun(study, clock, person: int | None, number: int) -> list[str]:
    """Sessions of a person, one an hour."""
    made = []
    for _ in range(number):
        clock.turn(HOUR)
        job = study.database.submit(lambda conn: begin_session(conn, study, person))
        made.append(job.result())
    return made


def test_leaving_ends_one_session_and_no_other(make_study, clock):
    study = make_study(2)
    one, other = join(study, 2)
    more = begun(study, clock, rows(study, t.person, code=one.code)[0].id, 5)
    every = [one.session, other.session, *more]
    for gone in (more[2], one.session):
        study.database.submit(lambda conn, gone=gone: end_session(conn, gone)).result()
        every.remove(gone)
        assert not opens(study, gone) and all(opens(study, left) for left in every)


def test_a_person_has_so_many_sessions_at_once_and_the_oldest_ends(make_study, clock):
    study = make_study(2)
    one, other = join(study, 2)
    sessions = [one.session, *begun(study, clock, rows(study, t.person)[0].id, AT_ONCE + 1)]
    assert [opens(study, each) for each in sessions] == [False, False, *[True] * AT_ONCE]
    assert AT_ONCE == 8 and opens(study, other.session)


def test_a_session_lasts_sixty_days_and_what_has_ended_is_taken_away(make_study, clock):
    study = make_study(2)
    one, other = join(study, 2)
    clock.turn(DAYS * 24 * HOUR - 1)
    assert DAYS == 60 and opens(study, one.session)
    clock.turn(1)
    assert not opens(study, one.session)
    (new,) = begun(study, clock, rows(study, t.person, code=one.code)[0].id, 1)
    mine = [row.person_id for row in rows(study, t.session)]
    assert len(mine) == len(set(mine)) == 2, "the other's is taken away when they come back"
    assert opens(study, new) and not opens(study, other.session)


def test_consent_and_what_was_seen_are_a_persons_own(make_study, clock):
    study = make_study(4)
    (early,) = join(study, 1)
    before = rows(study, t.person, code=early.code)[0]
    clock.turn(HOUR)
    (late,) = join(study, 1)
    clock.turn(HOUR)
    late.do(lambda conn, seat: consent(conn, study, seat))
    assert late.work()["state"] == "work"
    after, own = (rows(study, t.person, code=one.code)[0] for one in (early, late))
    assert after == before, "who came later changes nothing of who came before"
    assert own.seen_at == clock() and own.consented_at == clock() - HOUR, "the first time counts"
    assert own.last_number == 2


def test_who_was_never_invited_is_not_signed_in(make_study):
    with pytest.raises(NotAllowed, match="not signed in") as caught:
        study = make_study(2)
        study.database.submit(lambda conn: seat_of(conn, study, "made-up")).result()
    assert caught.value.todo == "open your personal link again"
