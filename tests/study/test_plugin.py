"""Questions from elsewhere: those in the documentation, with nothing changed in the core."""

from __future__ import annotations

import httpx
import polars as pl
import pytest
from tests.conftest import benchmark_of, grid_item
from tests.plugins import documented_plugins, forget_plugins, install_plugins
from tests.study.crowd import join, rows

import tellapart as ta
from tellapart.benchmark.benchmark import save_benchmark
from tellapart.study.plan import Stage
from tellapart.study.server.app import served
from tellapart.study.store import schema as t
from tellapart.study.study import opened_study
from tellapart.verbs.study.create import CreateStudyOptions, create_study
from tellapart.verbs.study.export import export_study
from tellapart.verbs.study.invite import invite_people


@pytest.fixture
def short_question(tmp_path_factory, monkeypatch):
    install_plugins("studies.md", tmp_path_factory.mktemp("plugins"), monkeypatch)
    yield
    forget_plugins()


@pytest.mark.usefixtures("short_question")
def test_the_question_in_the_documentation_works(make_study):
    study = make_study(5, Stage("ask", "blurry", judgements=2, checks=0.5), once="question")
    one, other = join(study, 2)
    assert one.go(lambda player, task: "yes") >= 10
    other.go(lambda player, task: "no")
    closed = rows(study, t.task, role="item")
    assert len(closed) == 10 and all(task.kept for task in closed)
    assert {row.choice for row in rows(study, t.judgement)} == {"yes", "no"}


def test_the_questions_of_the_documentation_are_short():
    (short,) = documented_plugins("studies.md")
    (long,) = (one for one in documented_plugins("extending.md") if one.name == "made-up")
    assert len(short.code.splitlines()) < 25 and len(long.code.splitlines()) < 40


@pytest.mark.usefixtures("plugins")
def test_a_question_of_ones_own_brings_its_page_part_its_figures_and_its_items(tmp_path):
    """Created, served, answered over HTTP, exported: where people can tell, the item is gone."""
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
