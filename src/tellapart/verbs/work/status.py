"""The verb `work status`: how far work in shards is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.options import Help
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.work.folder import WorkStatus


def work_status(
    folder: Annotated[Path | str, Help("The folder that the command writes to.")],
) -> WorkStatus:
    """Say how far work in shards is, whoever does it."""
    from tellapart.work import folder as shards

    return shards.work_status(Path(folder))


VERB = Verb(work_status, example="tellapart work status runs")
