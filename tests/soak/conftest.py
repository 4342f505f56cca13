"""Studies for the campaigns."""

from tests.study.conftest import clock, database, make_study, postgres

__all__ = ["clock", "database", "make_study", "postgres"]
