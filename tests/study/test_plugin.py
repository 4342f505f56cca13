"""A question from elsewhere: the one in the documentation."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.study.crowd import join, rows

from tellapart import registry
from tellapart.study.plan import Stage
from tellapart.study.store import schema as t

PAGE = Path(__file__).parent.parent.parent / "docs" / "studies.md"
GROUP = "tellapart.questions"


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "blurry_question.py").write_text(code.group(1))
    monkeypatch.syspath_prepend(str(tmp_path))
    point = EntryPoint("blurry", "blurry_question:QUESTION", GROUP)
    monkeypatch.setitem(registry._found(GROUP), "blurry", point)


@pytest.mark.usefixtures("plugin")
def test_the_question_in_the_documentation_works(make_study):
    study = make_study(5, Stage("ask", "blurry", judgements=2, checks=0.5), once="question")
    one, other = join(study, 2)
    assert one.go(lambda player, task: "yes") >= 10
    other.go(lambda player, task: "no")
    closed = rows(study, t.task, role="item")
    assert len(closed) == 10 and all(task.kept for task in closed)
    assert {row.choice for row in rows(study, t.judgement)} == {"yes", "no"}
