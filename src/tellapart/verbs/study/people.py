"""The verb `study people`: how much people judged, how fast, and how well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tellapart.verbs import Verb
from tellapart.verbs.study import Database, Folder, check_installed, in_study

if TYPE_CHECKING:
    from tellapart.study.progress import StudyPeople


def study_people(folder: Folder, *, database: Database = "") -> StudyPeople:
    """List people: how much they judged, how fast, and how well."""
    check_installed()
    from tellapart.study.progress import StudyPeople, crew

    return StudyPeople(tuple(in_study(folder, database, crew)))


VERB = Verb(study_people, example="tellapart study people my-study")
