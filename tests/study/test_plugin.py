"""Questions from elsewhere: those in the documentation, with nothing changed in the core."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint
from pathlib import Path

import httpx
import polars as pl
import pytest
from tests.conftest import benchmark_of, grid_item
from tests.study.crowd import join, rows

import tellapart as ta
from tellapart import registry
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.study.plan import Stage
from tellapart.study.server.app import served
from tellapart.study.store import schema as t
from tellapart.study.study import opened_study
from tellapart.verbs.study.create import CreateStudyOptions, create_study
from tellapart.verbs.study.export import export_study
from tellapart.verbs.study.invite import invite_people

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "studies.md"
MADE_UP = Path(__file__).with_name("made_up.py")
GROUP = "tellapart.questions"


def add_question(monkeypatch, name, module):
    """Register a question as the entry point of a package would."""
    point = EntryPoint(name, f"{module}:QUESTION", GROUP)
    monkeypatch.setitem(registry._found(GROUP), name, point)


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "blurry_question.py").write_text(code.group(1))
    monkeypatch.syspath_prepend(str(tmp_path))
    add_question(monkeypatch, "blurry", "blurry_question")


@pytest.mark.usefixtures("plugin")
def test_the_question_in_the_documentation_works(make_study):
    study = make_study(5, Stage("ask", "blurry", judgements=2, checks=0.5), once="question")
    one, other = join(study, 2)
    assert one.go(lambda player, task: "yes") >= 10
    other.go(lambda player, task: "no")
    closed = rows(study, t.task, role="item")
    assert len(closed) == 10 and all(task.kept for task in closed)
    assert {row.choice for row in rows(study, t.judgement)} == {"yes", "no"}


def test_the_long_question_of_the_documentation_is_the_one_that_is_tested():
    page = (DOCS / "extending-question.md").read_text(encoding="utf-8")
    code = MADE_UP.read_text(encoding="utf-8")
    assert code.rstrip() in page and len(code.splitlines()) < 40


def test_a_question_of_ones_own_brings_its_page_part_its_figures_and_its_items(
    tmp_path, monkeypatch
):
    """Created, served, answered over HTTP, exported: where people can tell, the item is gone."""
    add_question(monkeypatch, "made-up", "tests.study.made_up")
    bench = benchmark_of([grid_item(f"n{k}", 1, 2, {(0, 0)}) for k in range(4)])
    save_benchmark(bench, tmp_path / "bench")
    options = CreateStudyOptions(ask="made-up", keep="all", judgements="2")
    created = create_study(tmp_path / "bench", tmp_path / "s", options)
    assert str(created).startswith("hand-made: made-up")
    with opened_study(tmp_path / "s") as study, served(study) as url:
        for link in invite_people(tmp_path / "s", people=2, public_url=url).links:
            _answer_all(url, link.link.partition("#")[2])
    done = export_study(tmp_path / "s", tmp_path / "out")
    (figure,) = done.results.figures
    assert (figure.about, figure.how, figure.value, figure.n) == ("captions", "guessed", 0.25, 8)
    verified = ta.load_benchmark(tmp_path / "out" / "verified")
    assert [item.id for item in verified.items] == ["test:n1", "test:n2", "test:n3"]
    assert {item.kind for item in verified.items} == {"not guessable"}
    assert (
        pl.read_parquet(tmp_path / "out" / "judgements.parquet")["ask"].unique().item() == "made-up"
    )


def _answer_all(url, token):
    """Say that one cannot tell, but of the first item."""
    with httpx.Client(base_url=url, headers={"X-Tellapart": "1"}) as client:
        assert client.post("/api/join", json={"token": token}).status_code == 200
        (stage,) = client.get("/api/me").json()["study"]["stages"]
        script = client.get(stage["script"])
        assert script.headers["content-type"].startswith("text/javascript")
        assert "You do not see the picture." in script.text
        assert client.get("/questions/which-image.js").status_code == 404
        work = client.post("/api/consent", json={"agree": True}).json()
        while work["state"] == "work":
            task = work["task"]
            guesses = [o["value"] for o in task["options"] if o["text"] == "caption 1 of n0"]
            answer = {"number": task["number"], "value": (*guesses, "unsure")[0]}
            work = client.post("/api/answers", json=answer).json()
    assert work["state"] == "done"
