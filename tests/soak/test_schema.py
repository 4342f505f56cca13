"""Requests made from the server's own description, a few of each sort."""

from __future__ import annotations

import pytest
from tests.study.conftest import pairs_of
from tests.study.server.conftest import serving

from tellapart.study.folder import StudySetup, write_study
from tellapart.study.plan import Stage
from tellapart.study.study import opened_study

pytest.importorskip("schemathesis", reason="schemathesis is not installed")


def test_nothing_that_the_description_allows_or_forbids_ends_in_a_5xx(tmp_path):
    from soak.schema import attacked

    stage = Stage("ask", "which-image", judgements=3, checks=0.1)
    write_study(
        pairs_of(50), tmp_path / "study", StudySetup((stage,), prolific="study123", places=9)
    )
    with opened_study(tmp_path / "study") as study, serving(study) as here:
        found = attacked(here, examples=1)
    assert found["failures"] == []
    assert found["requests"] > 80 and found["statuses"]["200"] > 15
