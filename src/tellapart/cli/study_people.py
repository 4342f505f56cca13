"""Commands of `study` about people: `invite`, `people`, `person`, and the `owner`'s link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from tellapart.cli.output import Json, emit
from tellapart.cli.study_options import DatabaseUrl, Folder

CHANGES = ("exclude", "restore", "revoke", "delete")
PublicUrl = Annotated[str, typer.Option(help="The address that people know the server by.")]


def register(study: typer.Typer) -> None:
    """Add the commands."""
    study.command(epilog="Example: tellapart study invite my-study --people 20")(invite)
    study.command(epilog="Example: tellapart study people my-study")(people)
    study.command(epilog="Example: tellapart study person my-study p-k3vq9x2m exclude")(person)
    study.command(epilog="Example: tellapart study owner my-study --renew")(owner)


def invite(
    folder: Folder,
    number: Annotated[int, typer.Option("--people", help="How many links to make.")] = 1,
    label: Annotated[str, typer.Option(help="Your own note about these people.")] = "",
    public_url: PublicUrl = "http://127.0.0.1:8000",
    database: DatabaseUrl = "",
    as_json: Json = False,
) -> None:
    """Make personal links; each is shown once, so keep what is printed."""
    from tellapart.study.people import invite as add

    made = _do(folder, database, lambda conn, study: add(conn, study, number, label))
    where = public_url.rstrip("/")
    links = [{"person": one.code, "link": f"{where}/#{one.token}"} for one in made]
    emit(links, "\n".join(f"{one['person']}  {one['link']}" for one in links), as_json)


def people(folder: Folder, database: DatabaseUrl = "", as_json: Json = False) -> None:
    """List people: how much they judged, how fast, and how well."""
    from tellapart.study.progress import crew
    from tellapart.text.table_text import aligned

    found = _do(folder, database, crew)
    heads = ("person", "label", "from", "state", "judgements", "seconds", "training", "checks",
             "gold", "with majority")  # fmt: skip
    lines = [heads, *(_cells(one) for one in found)]
    emit(found, aligned(lines, range(4)) if found else "nobody yet", as_json)


def person(
    folder: Folder,
    code: Annotated[str, typer.Argument(help="The person, as `study people` lists them.")],
    change: Annotated[str, typer.Argument(help="exclude, restore, revoke or delete.")],
    database: DatabaseUrl = "",
    as_json: Json = False,
) -> None:
    """Count someone's judgements no more, take that back, end their link, or delete all."""
    from tellapart.errors import UnknownName
    from tellapart.study import people as members

    jobs: dict[str, Callable[..., None]] = {
        "exclude": members.exclude,
        "restore": members.restore,
        "revoke": members.revoke,
        "delete": members.forget,
    }
    if change not in jobs:
        raise UnknownName("change", change, CHANGES)
    _do(folder, database, lambda conn, study: jobs[change](conn, study, code))
    emit({"person": code, "change": change}, f"{code}: {change}", as_json)


def owner(
    folder: Folder,
    renew: Annotated[
        bool, typer.Option("--renew", help="Make a new link: the old one and its sessions end.")
    ] = False,
    public_url: PublicUrl = "http://127.0.0.1:8000",
    database: DatabaseUrl = "",
    as_json: Json = False,
) -> None:
    """Show the link to the owner's page, or make a new one in its place."""
    from tellapart.study.keys import renew_owner
    from tellapart.study.sessions import end_sessions
    from tellapart.study.study import opened_study

    with opened_study(folder, database) as study:
        keys = study.keys
        if renew:
            keys = renew_owner(folder)
            study.database.submit(lambda conn: end_sessions(conn, study, None)).result()
    link = f"{public_url.rstrip('/')}/owner#{keys.owner}"
    emit({"owner": link}, link, as_json)


def _do(folder: Path, database: str, job: Callable[..., Any]) -> Any:
    from tellapart.study.study import opened_study

    with opened_study(folder, database) as study:
        return study.database.submit(lambda conn: job(conn, study)).result()


def _cells(one: dict[str, Any]) -> tuple[str, ...]:
    took = one["median_milliseconds"]
    shares = (one[name] for name in ("training", "checks", "gold", "with_majority"))
    return (
        one["code"],
        one["label"],
        one["source"],
        one["state"],
        f"{one['judgements']:,}",
        "" if took is None else f"{took / 1000:.1f}",
        *(f"{right} of {of}" if of else "" for right, of in shares),
    )
