"""The files of deploy/ fit the program: what they copy, install, call and ask."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import yaml
from typer.main import get_command

from tellapart.cli.main import app
from tellapart.study.server.monitoring import router

ROOT = Path(__file__).parent.parent
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))


def steps(what: str) -> list[str]:
    return re.findall(rf"^{what} (.+)$", DOCKERFILE, re.MULTILINE)


def check_command(words: list[str]) -> None:
    """The words are a command that exists, with flags that it has."""
    command = get_command(app)
    while hasattr(command, "get_command"):
        command, words = command.get_command(None, words[0]), words[1:]
        assert command is not None
    command.make_parser(command.make_context("x", list(words), resilient_parsing=True))


def test_what_is_copied_and_installed_exists():
    copied = [word for line in steps("COPY") for word in shlex.split(line)[:-1]]
    assert "src" in copied and all((ROOT / word).exists() for word in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (install,) = (line for line in steps("RUN") if "pip install" in line)
    extras = re.findall(r"\.\[(\w+)\]", install)
    assert extras == ["study"] and set(extras) <= set(project["optional-dependencies"])


def test_the_commands_are_of_the_program_and_the_health_check_asks_what_is_there():
    (command,) = steps("CMD")
    check_command(json.loads(command))
    server = COMPOSE["services"]["server"]
    check_command(server["command"])
    assert (ROOT / "deploy" / server["build"]["context"]).resolve() == ROOT
    assert (ROOT / server["build"]["dockerfile"]).is_file()
    asked = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", DOCKERFILE)
    assert asked == [("8000", "/health")]
    assert "/health" in {route.path for route in router.routes}
