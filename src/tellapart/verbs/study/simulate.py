"""The verb `study simulate`: simulated people work through a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tellapart.study.effort import Crowd
from tellapart.types import Progress, silent
from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, opened

if TYPE_CHECKING:
    from tellapart.study.server.crowd import SimulatedStudy


def simulate_study(
    folder: Folder,
    options: Crowd = Crowd(),  # noqa: B008 (frozen)
    *,
    database: Database = "",
    progress: Progress = silent,
) -> SimulatedStudy:
    """Have simulated people work through a study over its real HTTP interface, on this machine."""
    with opened(folder, database) as study:
        from tellapart.study.server.app import served
        from tellapart.study.server.crowd import simulate

        with served(study) as url:
            return simulate(study, url, options, progress)


VERB = Verb(simulate_study, example="tellapart study simulate my-study --people 6 --error 0.1")
