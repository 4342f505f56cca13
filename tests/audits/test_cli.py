"""The verb on the command line."""

from __future__ import annotations

import json

import pytest
from tests.audits.conftest import pairs
from typer.testing import CliRunner

from tellapart.benchmark.benchmark import save_benchmark
from tellapart.cli.main import app
from tellapart.errors import BadInput


@pytest.fixture
def folder(tmp_path):
    return save_benchmark(pairs([("A cat", "A dog.")] * 12), tmp_path / "bench").root


def test_audit_prints_a_table_or_json(folder):
    done = CliRunner().invoke(app, ["audit", str(folder)])
    assert done.exit_code == 0, done.output
    assert "without a final stop" in done.stdout and "Structure" in done.stdout
    read = json.loads(CliRunner().invoke(app, ["audit", str(folder), "--json"]).stdout)
    assert read["benchmark"] == "planted" and read["items"] == 12


def test_audit_finds_the_overlap_with_another_benchmark(folder):
    done = CliRunner().invoke(app, ["audit", str(folder), "--overlap-with", str(folder), "--json"])
    found = {f["name"]: f["count"] for f in json.loads(done.stdout)["structure"]}
    assert found["overlap by id"] == 12


def test_objects_without_a_corpus_are_refused(folder):
    done = CliRunner().invoke(app, ["audit", str(folder), "--objects", "x.json"])
    assert isinstance(done.exception, BadInput)


def test_help_has_an_example():
    assert "Example: tellapart audit" in CliRunner().invoke(app, ["audit", "--help"]).stdout
