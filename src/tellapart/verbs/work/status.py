"""The verb `work status`: the progress of a job in shards."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.options import Help
from tellapart.verbs import Verb

if TYPE_CHECKING:
    from tellapart.work.folder import WorkStatus


def work_status(
    folder: Annotated[Path | str, Help("Output folder of the command that does the work.")],
) -> WorkStatus:
    """Show the progress of a job in shards, wherever its workers run."""
    from tellapart.work import folder as shards

    return shards.work_status(Path(folder))


VERB = Verb(work_status, example="tellapart work status runs")
