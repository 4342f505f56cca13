"""Unfinished work: where a job keeps its results so far, so that it can resume after a kill.

`OUT/.unfinished/<job>/<model>` holds what the cache may not: rows of models without a fingerprint,
answers of choosers, and reduced batch sizes. It is removed when the job is done. The job's name is
a hash of its models, benchmarks and settings, so that a different command starts from scratch.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tellapart._version import __version__
from tellapart.files import read_json, write_json
from tellapart.models.model import CACHE_FORMAT
from tellapart.seeds import digest
from tellapart.store.records import SUFFIX, Journal
from tellapart.store.rows import Shelf
from tellapart.work.crew import Crew

HOME = ".unfinished"


def model_id(model: Any) -> str:
    """A hash of a model's facts, and of the code of its class if that can be read.

    So a model without a weights fingerprint counts as a new model once its code is fixed.
    """
    try:
        source = Path(inspect.getsourcefile(type(model)) or "").read_bytes()
    except (OSError, TypeError):
        source = b""
    facts = {key: str(value) for key, value in asdict(model.facts).items()}
    return digest(CACHE_FORMAT, __version__, facts, hashlib.sha256(source).hexdigest())[:16]


@dataclass(frozen=True, slots=True)
class ModelWork:
    """One model's part of an unfinished job.

    If a `crew` does the work, its workers load `source`: the model string, or the model itself.
    """

    folder: Path
    source: Any = None
    crew: Crew | None = None

    @property
    def begun(self) -> bool:
        """Whether this job ran before; if so, existing runs are its own."""
        return (self.folder / "begun").exists()

    def begin(self) -> None:
        """Record that the job has started."""
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "begun").touch()

    def shelf(self, part: str) -> Shelf:
        """A store of rows, kept until the job is done."""
        return Shelf(self.folder / f"rows-{part}")

    def journal(self, part: str) -> Journal:
        """A journal of answers, kept until the job is done."""
        return Journal(self.folder / f"answers-{part}")

    def smaller(self) -> dict[str, int]:
        """Batch sizes reduced so far, by kind."""
        path = self.folder / "smaller.json"
        return dict(read_json(path)) if path.exists() else {}

    def note_smaller(self, smaller: dict[str, int]) -> None:
        """Record reduced batch sizes."""
        write_json(self.folder / "smaller.json", smaller)


@dataclass(frozen=True, slots=True)
class Work:
    """The folder of an unfinished job."""

    folder: Path

    def desk(self, model: Any, source: Any = None, crew: Crew | None = None) -> ModelWork:
        """A model's part of the job."""
        return ModelWork(self.folder / model_id(model), source, crew)

    def holds_something(self) -> bool:
        """Whether anything was computed or asked that is worth keeping."""
        return any(self.folder.glob(f"*/*/**/*{SUFFIX}"))

    def clear(self) -> None:
        """Remove the folder, in one step."""
        gone = self.folder.with_name(f"gone-{os.urandom(4).hex()}")
        with suppress(OSError):
            os.replace(self.folder, gone)
        for left in self.folder.parent.glob("gone-*"):
            shutil.rmtree(left, ignore_errors=True)
        for empty in (self.folder.parent, self.folder.parent.parent):
            with suppress(OSError):
                empty.rmdir()


@contextmanager
def work_on(out: Path, job: Sequence[Any]) -> Iterator[Work]:
    """The work of a job; it is removed if the job succeeds or leaves nothing worth keeping."""
    work = Work(out / HOME / digest("job", *job)[:16])
    saved = {path.parent for path in out.glob("*/*/run.json")}
    try:
        yield work
    except BaseException:
        new = {path.parent for path in out.glob("*/*/run.json")} - saved
        if not new and not work.holds_something():
            work.clear()
        raise
    work.clear()
