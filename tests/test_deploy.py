"""The files of deploy/ fit the program: what they copy, install, call and ask."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import time
import tomllib
import venv
from pathlib import Path

import pytest
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


def copied_to(folder: Path) -> Path:
    """What the image has of the source."""
    folder.mkdir()
    for line in steps("COPY"):
        *sources, to = shlex.split(line)
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, folder / to)
            else:
                shutil.copy(ROOT / source, folder / to)
    return folder


def answers(asking: list[str], serving: subprocess.Popen[bytes], env: dict[str, str]) -> bool:
    """Whether the health check succeeds within a minute."""
    until = time.monotonic() + 60
    while serving.poll() is None and time.monotonic() < until:
        if not subprocess.run(asking, env=env, capture_output=True, check=False).returncode:
            return True
        time.sleep(0.5)
    return False


@pytest.mark.campaign
def test_the_steps_of_the_image_in_a_fresh_environment_give_a_server_that_is_healthy(tmp_path):
    """What is copied, installed, started and asked, without Docker."""
    app, study = copied_to(tmp_path / "app"), tmp_path / "study"
    venv.create(tmp_path / "venv", with_pip=True)
    fresh = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    fresh["PATH"] = f"{tmp_path / 'venv' / 'bin'}{os.pathsep}{fresh['PATH']}"
    fresh["TELLAPART_CACHE"] = str(tmp_path / "cache")

    def run(line: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", line], cwd=tmp_path if "install" not in line else app, env=fresh,
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return done.stdout

    run(next(line for line in steps("RUN") if "pip install" in line))
    run("tellapart world world --scenes 12")
    run("tellapart build bison world bison --verifier oracle")
    run("tellapart study create bison study --ask which-image")
    assert str(tmp_path) in run("python -c 'import tellapart; print(tellapart.__file__)'")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        given = {"8000": str(free.getsockname()[1]), "/study": str(study)}
    (entry,), (command,), (check,) = steps("ENTRYPOINT"), steps("CMD"), steps("HEALTHCHECK .*CMD")
    words = [given.get(word, word) for word in json.loads(entry) + json.loads(command)]
    asking = [word.replace(":8000/", f":{given['8000']}/") for word in json.loads(check)]
    serving = subprocess.Popen(words, cwd=tmp_path, env=fresh)
    try:
        assert answers(asking, serving, fresh)
    finally:
        serving.terminate()
        serving.wait(30)
