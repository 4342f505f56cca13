"""The verb `study`: people pick, verify and set the human baseline."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tellapart.cli import study_creating, study_outcomes, study_people
from tellapart.cli.output import Json, emit, note
from tellapart.cli.study_options import DatabaseUrl, Folder

study = typer.Typer(
    help="People: create a study, serve it, see how far it is, export what they said.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def study_app() -> typer.Typer:
    """The commands that are not verbs yet."""
    study_creating.register(study)
    study_people.register(study)
    study_outcomes.register(study)
    return study


@study.command(epilog="Example: tellapart study serve my-study --port 8000")
def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8000,
    public_url: Annotated[str, typer.Option(help="Address that people see (https://...).")] = "",
    database: DatabaseUrl = "",
    as_json: Json = False,
) -> None:
    """Serve a study until you stop it (ctrl-c); people go on where they were."""
    from tellapart.study.server.host import ServeOptions
    from tellapart.study.server.host import serve as run
    from tellapart.study.study import opened_study

    options = ServeOptions(host, port, public_url)
    with opened_study(folder, database) as opened:

        def ready() -> None:
            owner = f"{options.url}/owner#{opened.keys.owner}"
            links = f"tellapart study invite {folder} --people 20 --public-url {options.url}"
            text = f"owner's page:      {owner}\nannotators' links: {links}"
            emit({"owner": owner, "url": options.url}, text, as_json)
            sys.stdout.flush()
            if options.open_to_others:
                note("warning: links and answers travel unencrypted; put a proxy with https in")
                note("front and name its address with --public-url")
            note("serving; stop with ctrl-c")

        run(opened, options, ready)


@study.command(epilog="Example: tellapart study status my-study")
def status(folder: Folder, database: DatabaseUrl = "", as_json: Json = False) -> None:
    """Say how far a study is."""
    from tellapart.study.progress import status as look
    from tellapart.study.study import opened_study

    with opened_study(folder, database) as opened:
        found = opened.database.read(lambda conn: look(conn, opened)).result()
    lines = [
        f"{one['stage']}: {one['given']:,} of {one['wanted']:,} judgements, "
        f"{one['closed']:,} of {one['items']:,} items done, {one['kept']:,} kept"
        for one in found["stages"]
    ]
    emit(found, "\n".join(lines), as_json)
