"""The verb `study serve`: serve a study's pages from this machine until stopped."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from tellapart.options import Help
from tellapart.verbs import Verb
from tellapart.verbs.study import SERVED, Database, Folder, opened


@dataclass(frozen=True, slots=True)
class ServedStudy:
    """Where a study is served, and the link to its owner's page."""

    folder: Path
    url: str
    owner: str
    unencrypted: bool
    closed_to_prolific: bool

    def to_json(self) -> dict[str, str]:
        """For `--json`."""
        return {"owner": self.owner, "url": self.url}

    def __str__(self) -> str:
        links = f"tellapart study invite {self.folder} --people 20"
        return f"owner's page:      {self.owner}\nannotators' links: {links}"

    def notes(self) -> list[str]:
        """Warnings and hints for whoever serves the study."""
        warning = [
            "warning: links and answers travel unencrypted; put an https proxy in front",
            "and give its address with --public-url",
        ]
        closed = [
            "warning: Prolific participants are admitted only once study.toml has "
            "prolific_study (the",
            "study's id there) and places (how many may take part)",
        ]
        return [
            *(warning if self.unencrypted else ()),
            *(closed if self.closed_to_prolific else ()),
            "serving; stop with ctrl-c",
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeStudyOptions:
    """Where a study is served, and behind which proxy."""

    host: Annotated[str, Help("Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, Help("Port to listen on.")] = 8000
    public_url: Annotated[str, Help("Public address of the server (https://...).")] = ""
    behind_proxy: Annotated[
        str,
        Help("Header in which a proxy passes the client's address (X-Forwarded-For)."),
    ] = ""


def serve_study(
    folder: Folder,
    options: ServeStudyOptions = ServeStudyOptions(),  # noqa: B008 (frozen)
    *,
    database: Database = "",
    ready: Callable[[ServedStudy], None] = lambda served: None,
) -> ServedStudy:
    """Serve a study until you stop it (ctrl-c); people can resume where they left off.

    In Python: `ready` is called with the return value as soon as the server is listening.
    """
    with opened(folder, database) as study:
        from tellapart.files import write_text
        from tellapart.study.server.app import serve
        from tellapart.web.host import ServerAddress

        where = ServerAddress(**asdict(options))
        closed = study.plan.prolific and not study.plan.takes_prolific
        owner = f"{where.url}/owner#{study.keys.owner}"
        served = ServedStudy(Path(folder), where.url, owner, where.open_to_others, closed)

        def listening() -> None:
            write_text(Path(folder) / SERVED, f"{where.url}\n")
            ready(served)
            sys.stdout.flush()  # a program that reads the links must not wait for a full buffer

        serve(study, where, listening)
    return served


VERB = Verb(
    serve_study, example="tellapart study serve my-study --port 8000", notes=ServedStudy.notes
)
