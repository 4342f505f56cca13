"""The verb `study`: people pick, verify and set the human baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tellapart.cli import study_creating, study_outcomes
from tellapart.cli.output import Json, emit, note

study = typer.Typer(
    help="People: create a study, serve it, see how far it is, export what they said.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
Folder = Annotated[Path, typer.Argument(help="A study's folder.")]
Url = Annotated[
    str, typer.Option("--database", help="postgresql://USER@HOST/NAME (default: SQLite in FOLDER).")
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    study_creating.register(study)
    study_outcomes.register(study)
    app.add_typer(study, name="study")


@study.command(epilog="Example: tellapart study serve my-study --port 8000")
def serve(
    folder: Folder,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen at.")] = 8000,
    public_url: Annotated[str, typer.Option(help="Address that people see (https://...).")] = "",
    database: Url = "",
    as_json: Json = False,
) -> None:
    """Serve a study until you stop it (ctrl-c); people go on where they were."""
    from tellapart.annotate.opening import opened_study
    from tellapart.web.serving import ServeOptions
    from tellapart.web.serving import serve as run

    options = ServeOptions(host, port, public_url)
    with opened_study(folder, database) as opened:
        owner = f"{options.url}/owner#{opened.keys.owner}"
        links = f"tellapart study invite {folder} --people 20 --public-url {options.url}"
        emit(
            {"owner": owner, "url": options.url},
            f"owner's page:      {owner}\nannotators' links: {links}",
            as_json,
        )
        note("serving; stop with ctrl-c")
        run(opened, options)


@study.command(epilog="Example: tellapart study invite my-study --people 20")
def invite(
    folder: Folder,
    people: Annotated[int, typer.Option(help="How many links to make.")] = 1,
    label: Annotated[str, typer.Option(help="Your own note about these people.")] = "",
    public_url: Annotated[
        str, typer.Option(help="Address that people see.")
    ] = "http://127.0.0.1:8000",
    database: Url = "",
    as_json: Json = False,
) -> None:
    """Make personal links; each is shown once."""
    from tellapart.annotate.opening import opened_study
    from tellapart.annotate.people import invite as add

    with opened_study(folder, database) as opened:
        made = opened.database.submit(lambda conn: add(conn, opened, people, label)).result()
    links = [{"person": one.code, "link": f"{public_url}/#{one.token}"} for one in made]
    emit(links, "\n".join(f"{one['person']}  {one['link']}" for one in links), as_json)


@study.command(epilog="Example: tellapart study status my-study")
def status(folder: Folder, database: Url = "", as_json: Json = False) -> None:
    """Say how far a study is."""
    from tellapart.annotate.opening import opened_study
    from tellapart.annotate.status import status as look

    with opened_study(folder, database) as opened:
        found = opened.database.read(lambda conn: look(conn, opened)).result()
    lines = [
        f"{one['stage']}: {one['given']:,} of {one['wanted']:,} judgements, "
        f"{one['closed']:,} of {one['items']:,} items done, {one['kept']:,} kept"
        for one in found["stages"]
    ]
    emit(found, "\n".join(lines), as_json)
