"""Trials of mutants: which tests run a line, and their results with a changed module.

Children are forked from a process that has the libraries loaded; they import the toolkit again,
with a changed module instead of its file.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from math import ceil
from pathlib import Path
from types import CodeType
from typing import Any

from soak.mutation import Mutant

LIBRARIES = (
    "pytest", "_pytest.assertion.rewrite", "hypothesis.strategies", "numpy", "scipy.stats",
    "scipy.optimize", "polars", "PIL.Image", "numba", "sqlalchemy", "fastapi", "uvicorn", "httpx",
    "typer",
)  # fmt: skip
LEAST_SECONDS, TIMES = 15.0, 5.0
"""Processor time for a mutant's tests: so much, or so many times what they took unchanged."""
PATIENCE = 10
"""How many times as long they may take by the clock, on a machine with other work."""
MOST_TESTS, QUICK_SECONDS, MOST_SECONDS = 60, 10.0, 40.0
"""So many of a line's tests, the quickest; more that are quick, and fewer where all are slow."""
WORLDS = {"world", "benchmarks"}
"""Fixtures that take seconds."""


@dataclass(frozen=True, slots=True)
class Covering:
    """By module and line the tests that run it, and how many seconds each test takes."""

    tests: dict[str, list[str]]
    seconds: dict[str, float]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests of a mutant's line, quickest first.

        Of a line that only an import runs: the tests of its whole module. What a test asks of
        PostgreSQL is left out where it asks the same of SQLite, which needs no server.
        """
        found = self.tests.get(f"{mutant.path}:{mutant.line}", [])
        if not found and self.imported(mutant):
            module = f"{mutant.path}:"
            own = (some for line, some in self.tests.items() if line.startswith(module))
            found = list(dict.fromkeys(name for some in own for name in some))
        every = {*found}
        found = [one for one in found if _on_sqlite(one) == one or _on_sqlite(one) not in every]
        chosen, spent = list[str](), 0.0
        for name in sorted(found, key=lambda name: self.seconds.get(name, 0.0)):
            spent += self.seconds.get(name, 0.0)
            enough = QUICK_SECONDS if len(chosen) >= MOST_TESTS else MOST_SECONDS
            if chosen and spent > enough:
                break
            chosen.append(name)
        return chosen

    def imported(self, mutant: Mutant) -> bool:
        """Whether a line ran, if for no test: a statement of the module or of a class."""
        return f"{mutant.path}:{mutant.line}" in self.tests


def _on_sqlite(test: str) -> str:
    """The same test on the database that is a file."""
    return test.replace("postgresql", "sqlite")


class Contexts:
    """A plugin of pytest: tells coverage which test runs, and how long it took."""

    def __init__(self, coverage: Any) -> None:
        self.coverage, self.seconds = coverage, dict[str, float]()

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave out tests of whole worlds: for each mutant they would be built again."""
        items[:] = [one for one in items if not WORLDS & set(getattr(one, "fixturenames", ()))]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test begins, with what is set up for it."""
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        """One of its phases has ended."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration


def covering_tests(root: Path, modules: Sequence[Path], tests: Sequence[str]) -> Covering:
    """Run tests once on the unchanged code, and see which run which line."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "covering"

        def job() -> int:
            from coverage import Coverage

            interpret(modules)
            coverage = Coverage(data_file=None, include=[str(one) for one in modules])
            plugin = Contexts(coverage)
            coverage.start()
            code = _pytest(root, list(tests), [plugin])
            coverage.stop()
            data, lines = coverage.get_data(), dict[str, list[str]]()
            for module in map(str, modules):
                for line, contexts in data.contexts_by_lineno(module).items():
                    lines[f"{module}:{line}"] = [one for one in contexts if one]
            out.write_text(json.dumps((lines, plugin.seconds)), encoding="utf-8")
            return code

        code, said = forked(job, 3600.0)
        if code != 0:
            raise SystemExit(f"the tests fail on the unchanged code:\n{said[-3000:]}")
        return Covering(*json.loads(out.read_text(encoding="utf-8")))


def tried(mutant: Mutant, covering: Covering, root: Path) -> str:
    """What became of a mutant: killed, timeout, survived, or not covered by any test."""
    tests = covering.of(mutant)
    if not tests:
        return "not covered"
    source = mutant.source()

    def job() -> int:
        interpret([mutant.path])
        changed = Changed(mutant.path, source)
        changed.pytest_sessionstart()
        return _pytest(root, tests, [changed], "-x")

    most = max(LEAST_SECONDS, TIMES * sum(covering.seconds.get(name, 0.0) for name in tests))
    code, _ = forked(job, most)
    ends = {0: "survived", None: "timeout", -signal.SIGXCPU: "timeout", -signal.SIGKILL: "timeout"}
    return ends.get(code, "killed")


def interpret(modules: Sequence[Path]) -> None:
    """Run the kernels of modules as Python, where they have some: compiled lines are not seen.

    Nor is a change of theirs: what is compiled is kept by the file that it comes from.
    """
    if any("@kernel" in module.read_text(encoding="utf-8") for module in modules):
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        importlib.import_module("numba").config.DISABLE_JIT = 1  # it is imported already


def _pytest(root: Path, tests: list[str], plugins: list[Any], *more: str) -> int:
    import pytest

    os.chdir(root)
    sys.path.insert(0, str(root))
    loaded = "ignore::pytest.PytestAssertRewriteWarning"  # libraries are, in the parent
    words = ["-q", "-W", loaded, "-p", "no:cacheprovider", *more, *tests]
    return int(pytest.main(words, plugins))


class Changed:
    """Finds one module and gives it other source; keeps the other modules as they are."""

    def __init__(self, path: Path, source: str) -> None:
        parts = path.with_suffix("").parts
        start = len(parts) - 1 - parts[::-1].index("tellapart")
        self._name, self._path, self._source = ".".join(parts[start:]), path, source

    def pytest_sessionstart(self) -> None:
        """Before pytest's own finder, which reads files whose doctests it is told to run."""
        sys.meta_path[:] = [self, *(one for one in sys.meta_path if one is not self)]

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> Any:
        """As the import system asks."""
        if name != self._name:
            return None
        loader = _Loader(name, str(self._path))
        loader.changed = self._source
        spec: ModuleSpec | None = spec_from_file_location(name, self._path, loader=loader)
        return spec


class _Loader(SourceFileLoader):
    changed = ""

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.changed, self.path, "exec", dont_inherit=True)


def forked(job: Callable[[], int], seconds: float) -> tuple[int | None, str]:
    """Run a job in a child: its code, None where it took too long, and what it said."""
    for name in LIBRARIES:
        importlib.import_module(name)
    gc.freeze()  # or every child would go through all that the libraries hold, and copy it
    with _in_memory() as place, tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            _run(job, said.fileno(), seconds, place)
        end = time.monotonic() + PATIENCE * seconds
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                code: int | None = os.waitstatus_to_exitcode(status)
                break
            if time.monotonic() > end:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                code = None
                break
            time.sleep(0.02)
        said.seek(0)
        return code, said.read().decode(errors="replace")


@contextlib.contextmanager
def _in_memory() -> Iterator[str]:
    """A folder for a child's files, on a disk in memory, if any; whatever is left goes with it."""
    memory = Path("/dev/shm")
    place = tempfile.mkdtemp(prefix="tellapart-trial-", dir=memory if memory.is_dir() else None)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _run(job: Callable[[], int], out: int, seconds: float, place: str) -> None:
    """In the child: a group of its own, its words into a file, and no way back."""
    os.setsid()
    atexit._clear()  # what the parent has to do at its end is not the child's
    os.environ["TMPDIR"] = tempfile.tempdir = place
    sys.dont_write_bytecode = False  # or each would compile the tests anew
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    limit = ceil(seconds) if most == resource.RLIM_INFINITY else min(ceil(seconds), most)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.dup2(out, 1)
    os.dup2(out, 2)
    for name in [one for one in sys.modules if one.partition(".")[0] in ("tellapart", "tests")]:
        del sys.modules[name]  # imported anew, the changed module among them
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # those of other libraries take seconds
    code = 70
    try:
        code = job()
    except BaseException as error:  # nothing may leave the child
        os.write(2, repr(error).encode())
    finally:
        atexit._run_exitfuncs()  # servers that tests share are stopped
        os._exit(code)
