"""Files that an older version wrote are read the same way, or refused with the reason."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import tellapart as ta
from tellapart.cli.main import app

FILES = Path(__file__).parent / "files_0_1"
EXPECTED = json.loads((FILES / "expected.json").read_text())


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A copy: reading must not depend on writing to what is kept."""
    return Path(shutil.copytree(FILES, tmp_path / "files"))


def test_an_older_corpus_is_read() -> None:
    corpus = ta.read_corpus(FILES / "world")
    assert (len(corpus.images), len(corpus.captions)) == (12, 60)


@pytest.mark.parametrize("name", ["bison", "foil", "mcic", "bivlc"])
def test_an_older_benchmark_is_whole(name: str) -> None:
    verdict = ta.validate(FILES / name)
    assert verdict.good, str(verdict)


INTERVAL = ("low", "high", "method")
"""These files hold few groups; their intervals are wider now than they were."""


def without_intervals(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: row[key] for key in row if key not in INTERVAL} for row in rows]


def test_older_runs_measure_as_they_did() -> None:
    names = ("benchmark", "measure", "kind", "model")
    rows = {tuple(row[n] for n in names): row for row in ta.measure(FILES / "runs", by_kind=True)
            .to_json()}  # fmt: skip
    expected = without_intervals(EXPECTED["measures"])
    found = [rows.pop(tuple(old[n] for n in names)) for old in expected]
    assert not rows
    assert [{key: row[key] for key in old} for row, old in zip(found, expected, strict=True)] == (
        expected
    )


def test_an_older_study_exports_what_it_did(files: Path, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    made = CliRunner().invoke(app, ["study", "export", str(files / "study"), str(out)])
    assert made.exit_code == 0, made.output
    found, expected = json.loads((out / "results.json").read_text()), dict(EXPECTED["study"])
    figures = found.pop("figures"), expected.pop("figures")
    assert {name: found[name] for name in expected} == expected  # what is new stands beside it
    assert without_intervals(figures[0]) == without_intervals(figures[1])


def test_an_older_cache_spares_the_model_its_work(files: Path, tmp_path: Path) -> None:
    def kept() -> set[Path]:
        return {path for path in (files / "cache").rglob("*.segment") if path.stat().st_size}

    before = kept()
    options = ta.EvaluateOptions(cache=files / "cache")
    (run,) = ta.evaluate("storybook", files / "bison", tmp_path / "runs", options)
    assert run.scores.equals(ta.load_run(FILES / "runs" / "bison" / "storybook").scores)
    assert kept() == before
