"""Java programs of the package pycocoevalcap: where they are, and how they are kept running."""

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
            f"{wanted_by} is a Java program, and there is no Java on this machine",
            allowed="a Java runtime, version 8 or newer, on the PATH or under JAVA_HOME",
            todo="install one, for example with: apt install default-jre-headless",
        )
    return path


def program(wanted_by: str, *path: str) -> Path:
    """A file of pycocoevalcap; says how to get it where it is not there."""
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
            f"{wanted_by} is not whole: {file.name} is missing",
            where=str(file),
            todo="install it again: pip install --force-reinstall pycocoevalcap",
        )
    return file


Command = tuple[Sequence[str], Path]
"""What to start, and the folder to start it in."""
AT_ONCE = 1_000
"""Lines that are sent together."""
SECONDS = 120.0
"""How long a line may take, the start of the program included."""
ATTEMPTS = 3
"""How often a program may end in a row without having answered anything."""


class Watch:
    """Ends a process that has kept us waiting for too long since `begun`."""

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
    """Started when first needed, then kept; gone when Python ends, even where that is killed.

    Lines are sent without waiting for answers, which come in the same order. A call that is
    interrupted, or finds the process dead, leaves none behind: the next one starts afresh.
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
        """One answer a line; lines have no line breaks in them.

        A line over which the program ends, or takes longer than `seconds`, has the answer "", and
        the program is started again for those after it. One that ends again and again without
        having answered anything is an error.
        """
        answers: list[str] = []
        silent = 0
        with self._lock:
            while len(answers) < len(lines):
                before = len(answers)
                try:
                    answers += self._ask(lines[before:])
                except BaseException:  # Ctrl-C: answers that are still to come belong to nobody
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
        """The answers to lines, up to the first over which the program ends or takes too long."""
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
        """The process; a new one where there is none, where it died, or after a fork."""
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
            todo="give the same command again; if it ends here again, see whether there is "
            "memory enough",
        )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError, ValueError):  # what was still to be sent
                    pipe.close()  # type: ignore[union-attr]
        if self._complaints is not None:
            self._complaints.close()
            self._complaints = None


def _send(process: subprocess.Popen[bytes], lines: Sequence[str]) -> None:
    """All lines; that a process died is noticed by whoever waits for the answers."""
    assert process.stdin is not None
    with suppress(OSError, ValueError):
        for begin in range(0, len(lines), AT_ONCE):
            part = "\n".join(lines[begin : begin + AT_ONCE])
            process.stdin.write(f"{part}\n".encode(errors="replace"))
        process.stdin.flush()
