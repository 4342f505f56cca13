"""Pages as they are followed: the commands and the Python on them, in order, run in one folder.

What a page takes for granted (`captions.json`, `my-photos`, `my-bison`) is put there by
`tests/stand_ins.py` the first time that a command names it, small and drawn.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from typer.testing import CliRunner

from tellapart.cli.commands import parameters
from tellapart.cli.main import app
from tellapart.verbs import Verb, module_of
from tests.stand_ins import MAKERS

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(
    r"```(\w*)\n(.*?)```|^ {4}(tellapart [^\n]*)|^\|[^\n]*\| `(tellapart [^`\n]*)` \|",
    re.DOTALL | re.MULTILINE,
)
SMALLER = {"--scenes": "40", "--items": "12", "--limit": "12", "--people": "4"}
"""Options whose numbers are made smaller: what holds for a few holds for many."""
SERVES = (("study", "serve"), ("view",))


@dataclass(frozen=True)
class Step:
    """A command, or a block of Python."""

    text: str
    python: bool = False


def steps(page: Path) -> Iterator[Step]:
    """What a page asks its reader to run, in its order; lines that go on are put together.

    A command in a table counts where it is a whole cell and not the first of its row.
    """
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for language, block, line, cell in CODE.findall(text):
        if language == "python":
            yield Step(block, python=True)
        elif line or cell:
            yield Step(line or cell)
        else:
            commands = (one for one in block.splitlines() if one.startswith("tellapart "))
            yield from map(Step, commands)


def verb_of(words: list[str]) -> tuple[Verb, list[str]]:
    """The verb that some words call, and the words behind its name."""
    if words[0] == "build":
        from tellapart.verbs.build import find_builder

        return find_builder(words[1]), words[2:]
    if words[0] == "analyse":
        from tellapart.verbs.runs.analyse import analysis_verb

        return analysis_verb(words[1]), words[2:]
    if words[0] == "study":
        return import_module(f"tellapart.verbs.study.{words[1]}").VERB, words[2:]
    return import_module(module_of(words[0])).VERB, words[1:]


def written(words: list[str]) -> set[str]:
    """The words that name what the command writes."""
    verb, rest = verb_of(words)
    positional = [one.name for one in parameters(verb) if one.argument]
    given = [word for k, word in enumerate(rest) if not word.startswith("--")
             and not (k and rest[k - 1].startswith("--"))]  # fmt: skip
    places = dict(zip(positional, given, strict=False))
    flags = {rest[k + 1] for k, word in enumerate(rest[:-1]) if word in ("--out", "--bundle")}
    return flags | {places["out"]} if "out" in places else flags


@dataclass
class Reader:
    """Somebody who follows a page in a folder of their own."""

    place: Path
    instead: Mapping[str, str] = field(default_factory=dict)

    def follow(self, step: Step) -> str:
        """Do what a step says; what it printed. It must end well."""
        if step.python:
            return self.run([sys.executable, "-c", step.text])
        words = [self.smaller(word) for word in shlex.split(step.text, comments=True)[1:]]
        words = [
            SMALLER.get(words[k - 1], word) if k and word.isdigit() else word
            for k, word in enumerate(words)
        ]
        self.prepare(words)
        if words[:2] == ["study", "export"]:  # by now people have answered
            CliRunner().invoke(app, ["study", "simulate", words[2], "--error", "0"])
        if any(tuple(words[: len(verb)]) == verb for verb in SERVES) and "--bundle" not in words:
            return self.serve(words)
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (step.text, done.output, done.exception)
        return done.output

    def smaller(self, word: str) -> str:
        """A word, with the small model in place of the large one."""
        for large, small in self.instead.items():
            word = word.replace(large, small)
        return word

    def prepare(self, words: list[str]) -> None:
        """Make what the command reads and is not there; take away what it writes."""
        out = written(words)
        for word in words:
            for name in re.split(r"[:@,?]", word):
                wanted = name.rstrip("/")
                if wanted in MAKERS and word not in out and not (self.place / wanted).exists():
                    MAKERS[wanted](self.place, wanted)
        for name in out:
            path = self.place / name
            if path.exists() and "--out" not in words:
                subprocess.run(["rm", "-r", str(path)], check=True)

    def serve(self, words: list[str]) -> str:
        """Start a command that serves, wait for its address, and stop it as ctrl-c does."""
        more = ["--no-open"] if words[0] == "view" and "--no-open" not in words else []
        words = [
            word for k, word in enumerate(words) if "--port" not in words[max(k - 1, 0) : k + 1]
        ]
        command = [sys.executable, "-m", "tellapart", *words, *more, "--port", "0"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=self.place, env=os.environ
        ) as process:
            try:
                assert process.stdout is not None
                return next(line for line in process.stdout if "http://" in line)
            finally:
                process.terminate()

    def run(self, command: list[str]) -> str:
        """Run a program in the reader's folder."""
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=self.place, check=False, env=os.environ
        )
        assert done.returncode == 0, (command[-1], done.stdout, done.stderr)
        return done.stdout
