"""The campaigns of faults, small: few people, few items."""

from __future__ import annotations

import argparse
import os

import pytest
from soak.faults import audited, campaign
from tests.study.crowd import first, join
from tests.study.postgres import binaries
from tests.study.server.load import Stubborn

ZERO = dict.fromkeys(("lost", "doubled", "over", "stuck", "unfinished"), 0)
SMALL = argparse.Namespace(people=8, items=60, kills=1, seed=1)
FAULTS = [
    ("kills", "sqlite"),
    pytest.param("kills", "postgresql", marks=pytest.mark.campaign),
    ("away", "postgresql"),
    ("disk", "sqlite"),
]


@pytest.mark.parametrize(("fault", "database"), FAULTS)
def test_nothing_acknowledged_is_lost(fault, database):
    if database == "postgresql" and binaries() is None:
        pytest.skip("PostgreSQL is not installed")
    if fault == "disk" and os.geteuid() != 0:
        pytest.skip("a small file system takes root")
    found = campaign(fault, database, SMALL)
    assert {name: found[name] for name in ZERO} == ZERO
    assert found["acknowledged"] == found["stored"] == 3 * SMALL.items
    assert found["instead"]["no answer" if fault == "kills" else "503"] > 0


def test_the_audit_sees_what_is_not_there_or_says_something_else(make_study):
    study = make_study(4)
    (player,) = join(study, 1)
    player.go(first)
    told = Stubborn("", None, dict.fromkeys(range(1, 5), "1"))
    assert audited(study, {player.code: told})["lost"] == 0
    told.acknowledged[5] = "1"
    told.acknowledged[2] = "2"
    found = audited(study, {player.code: told})
    assert found["lost"] == 2 and found["unfinished"] == 4
