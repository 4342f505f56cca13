"""Commands of `study` for what comes out: `export`, and beforehand `plan` and `simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tellapart.cli.output import Json, Overwrite, Seed, emit, listed, progress_bar

Folder = Annotated[Path, typer.Argument(help="A study's folder.")]
DatabaseUrl = Annotated[
    str, typer.Option("--database", help="postgresql://USER@HOST/NAME (default: SQLite in FOLDER).")
]
TABLES = (".csv", ".parquet", ".jsonl")


def register(study: typer.Typer) -> None:
    """Add the commands."""
    study.command(epilog="Example: tellapart study export my-study results")(export)
    study.command(epilog="Example: tellapart study plan --error 0.1 --items 2000")(plan)
    study.command(epilog="Example: tellapart study simulate my-study --people 6 --error 0.1")(
        simulate
    )


def export(
    folder: Folder,
    out: Annotated[
        Path,
        typer.Argument(help="Folder to write to, or a .csv, .parquet or .jsonl of judgements."),
    ],
    database: DatabaseUrl = "",
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write judgements, agreement, human figures, the human run and the verified benchmark."""
    from tellapart.study.export import export_study, write_judgements
    from tellapart.study.study import opened_study

    with opened_study(folder, database) as opened:
        if out.suffix in TABLES:
            number = write_judgements(opened, out)
            emit({"judgements": number}, f"{number:,} judgements  ->  {out}", as_json)
            return
        found = export_study(opened, out, overwrite=overwrite)
    emit(found.to_json(), f"{found}\n\n->  {out}", as_json)


def plan(
    error: Annotated[float, typer.Option(help="Share of wrong answers of one person.")] = 0.1,
    options: Annotated[int, typer.Option(help="How many answers are possible.")] = 4,
    items: Annotated[int, typer.Option(help="How many items there are.")] = 1000,
    at_most: Annotated[int, typer.Option(help="Items that one person judges at most.")] = 100,
    seconds: Annotated[float, typer.Option(help="How long one judgement takes.")] = 8.0,
    judgements: Annotated[str, typer.Option(help="Judgements of each item.")] = "1,2,3,5,7,9",
    as_json: Json = False,
) -> None:
    """How many judgements are needed: what they give, how many people and hours they take."""
    from tellapart.errors import BadInput
    from tellapart.study.effort import StudyEffort, plan_effort

    numbers = listed(judgements)
    if not all(one.isdigit() for one in numbers):
        raise BadInput(f"--judgements {judgements} are not numbers", allowed="such as 1,3,5")
    effort = StudyEffort(error, options, items, at_most, seconds)
    found = plan_effort(effort, tuple(map(int, numbers)))
    emit(found.to_json(), str(found), as_json)


def simulate(
    folder: Folder,
    people: Annotated[int, typer.Option(help="How many simulated people.")] = 5,
    at_once: Annotated[int, typer.Option(help="How many of them work at a time.")] = 2,
    error: Annotated[float, typer.Option(help="Share of their answers that are wrong.")] = 0.1,
    bias: Annotated[float, typer.Option(help="Share that go to the first option unseen.")] = 0.0,
    seconds: Annotated[float, typer.Option(help="How long they say an answer takes.")] = 8.0,
    leaving: Annotated[float, typer.Option(help="Chance to walk away at each task.")] = 0.0,
    seed: Seed = 0,
    database: DatabaseUrl = "",
    as_json: Json = False,
) -> None:
    """Let simulated people work through a study by its real HTTP interface, on this machine."""
    from tellapart.study.server.crowd import Crowd, Habits
    from tellapart.study.server.crowd import simulate as work
    from tellapart.study.server.host import served
    from tellapart.study.study import opened_study

    crowd = Crowd(people, at_once, seed, Habits(error, bias, seconds, leaving))
    with (
        opened_study(folder, database) as opened,
        served(opened) as url,
        progress_bar("answers") as progress,
    ):
        found = work(opened, url, crowd, lambda _phase, done, total: progress(done, total))
    emit(found.to_json(), str(found), as_json)
