"""The Java programs of the package pycocoevalcap: finding them and keeping them running."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from tellapart.errors import TellapartError


def java(wanted_by: str) -> str:
    """The path of the Java launcher: `JAVA_HOME`'s, else the first on the `PATH`."""
    home = os.environ.get("JAVA_HOME")
    path = (shutil.which("java", path=f"{home}/bin") if home else None) or shutil.which("java")
    if path is None:
        raise TellapartError(
            f"{wanted_by} is a Java program, and Java is not installed",
            allowed="a Java runtime, version 8 or newer, on the PATH or under JAVA_HOME",
            todo="install one, for example with: apt install default-jre-headless",
        )
    return path


def program(wanted_by: str, *path: str) -> Path:
    """A file of pycocoevalcap; if it is missing, the error says how to get it."""
    spec = find_spec("pycocoevalcap")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders:
        raise TellapartError(
            f"{wanted_by} comes with the package 'pycocoevalcap', which is not installed",
            todo="pip install 'tellapart[captions]'",
        )
    file = Path(folders[0], *path)
    if not file.exists():
        raise TellapartError(
            f"{wanted_by} is incomplete: {file.name} is missing",
            where=str(file),
            todo="reinstall it: pip install --force-reinstall pycocoevalcap",
        )
    return file


Command = tuple[Sequence[str], Path]
"""The command, and the folder to run it in."""
AT_ONCE = 1_000
"""How many lines are sent together."""
SECONDS = 120.0
"""How many seconds a line may take, including the start of the program."""
ATTEMPTS = 3
"""How many times in a row a program may end without any answer."""


class Watch:
    """Kills a process that takes too long since `begun`."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.begun = time.monotonic()
        self._process, self._seconds = process, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(min(1.0, self._seconds / 4)):
            if time.monotonic() - self.begun > self._seconds:
                self._process.kill()
                return


class LineProgram:
    """A program that starts on first use and ends with Python, even if that is killed.

    Lines are sent without waiting for answers, which come in the same order. A call that is
    interrupted, or finds the process dead, leaves no process behind: the next call starts a new
    one.
    """

    def __init__(self, name: str, command: Callable[[], Command], seconds: float = SECONDS) -> None:
        self.name, self.seconds = name, seconds
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None
        self._owner = 0
        atexit.register(self.close)

    def answers(self, lines: Sequence[str]) -> list[str]:
        """One answer per line; lines contain no line breaks.

        If the program ends on a line, or takes longer than `seconds`, the answer is "" and the
        program is restarted for the lines after it. If it keeps ending without any answer, that is
        an error.
        """
        answers: list[str] = []
        silent = 0
        with self._lock:
            while len(answers) < len(lines):
                before = len(answers)
                try:
                    answers += self._ask(lines[before:])
                except BaseException:  # Ctrl-C: pending answers must not reach the next call
                    self._end()
                    raise
                if len(answers) < len(lines):
                    silent = silent + 1 if len(answers) == before else 1
                    if silent > ATTEMPTS:
                        raise self._ended(lines[len(answers)])
                    self._end()
                    answers.append("")
        return answers

    def _ask(self, lines: Sequence[str]) -> list[str]:
        """The answers, up to the first line on which the program ends or takes too long."""
        process = self._running()
        assert process.stdout is not None
        sender = threading.Thread(target=_send, args=(process, lines), daemon=True)
        sender.start()
        watch = Watch(process, self.seconds)
        answers: list[str] = []
        with watch:
            for _ in lines:
                answer = process.stdout.readline()
                if not answer.endswith(b"\n"):
                    return answers
                watch.begun = time.monotonic()
                answers.append(answer.decode(errors="replace").strip())
        sender.join()
        return answers

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[bytes]:
        """The process; a new one if there is none, if it died, or after a fork."""
        if self._process is None or self._process.poll() is not None or self._owner != os.getpid():
            self._end()
            command, folder = self._command()
            self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `_end`)
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
            )
            self._owner = os.getpid()
        return self._process

    def _ended(self, line: str) -> TellapartError:
        message = ""
        if self._complaints is not None:
            self._complaints.seek(0)
            message = self._complaints.read().decode(errors="replace").strip()[-300:]
        self._end()
        return TellapartError(
            f"{self.name}'s program ended before it answered" + (f": {message}" if message else ""),
            where=f"the line {line[:200]!r}",
            todo="run the same command again; if it ends here again, check that there is enough "
            "memory",
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError, ValueError):  # unsent data
                    pipe.close()  # type: ignore[union-attr]
        if self._complaints is not None:
            self._complaints.close()
            self._complaints = None


def _send(process: subprocess.Popen[bytes], lines: Sequence[str]) -> None:
    """Send all lines; the reader of the answers notices if the process dies."""
    assert process.stdin is not None
    with suppress(OSError, ValueError):
        for begin in range(0, len(lines), AT_ONCE):
            part = "\n".join(lines[begin : begin + AT_ONCE])
            process.stdin.write(f"{part}\n".encode(errors="replace"))
        process.stdin.flush()
