"""The verb `study status`: a study's progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, check_installed, in_study

if TYPE_CHECKING:
    from tellapart.study.progress import StudyStatus


def study_status(folder: Folder, *, database: Database = "") -> StudyStatus:
    """Show a study's progress."""
    check_installed()
    from tellapart.study.progress import read_status

    return in_study(folder, database, read_status, write=False)


VERB = Verb(study_status, example="tellapart study status my-study")
