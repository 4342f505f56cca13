"""Java programs of the package pycocoevalcap: where they are, and how they are kept running."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import threading
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


class LineProgram:
    """Started when first needed, then kept; gone when Python ends, even where that is killed.

    Lines are sent without waiting for answers, which come in the same order. A call that is
    interrupted, or finds the process dead, leaves none behind: the next one starts afresh.
    """

    def __init__(self, name: str, command: Callable[[], Command]) -> None:
        self.name = name
        self._command = command
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._complaints: IO[bytes] | None = None
        self._owner = 0
        atexit.register(self.close)

    def answers(self, lines: Sequence[str]) -> list[str]:
        """One answer a line; lines have no line breaks in them."""
        if not lines:
            return []
        with self._lock:
            try:
                process = self._running()
                assert process.stdout is not None
                sender = threading.Thread(target=_send, args=(process, lines), daemon=True)
                sender.start()
                answers = []
                for line in lines:
                    answer = process.stdout.readline()
                    if not answer.endswith(b"\n"):
                        raise self._ended(line)
                    answers.append(answer.decode(errors="replace").strip())
                sender.join()
            except BaseException:  # also Ctrl-C: answers that are still to come belong to nobody
                self._end()
                raise
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
        assert self._complaints is not None
        self._complaints.seek(0)
        message = self._complaints.read().decode(errors="replace").strip()[-300:]
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
