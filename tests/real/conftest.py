"""Where the real data lie; the tests here are skipped where there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder with the real data, named by the environment."""
    named = os.environ.get("TELLAPART_REAL_DATA")
    if not named:
        pytest.skip("TELLAPART_REAL_DATA does not name a folder with the real data")
    folder = Path(named)
    if not folder.is_dir():
        pytest.skip(f"TELLAPART_REAL_DATA names {named}, which is not a folder")
    return folder
