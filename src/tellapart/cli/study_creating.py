"""The command `study create`: from options to the stages of a study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from tellapart.cli.output import Json, Overwrite, Seed, emit, note

if TYPE_CHECKING:
    from tellapart.study.plan import Stage

OptionalText = Optional[str]  # noqa: UP045 (typer reads annotations at run time)
NUMBERS: dict[str, type] = {
    "judgements": int, "twice": float, "at_most": int, "checks": float, "gold": float,
    "minutes": float,
}  # fmt: skip


def register(study: typer.Typer) -> None:
    """Add the command."""
    study.command(epilog="Example: tellapart study create my-pairs my-study --as bison")(create)


def create(
    source: Annotated[str, typer.Argument(help="A benchmark, or a folder with pairs.parquet.")],
    out: Annotated[Path, typer.Argument(help="Folder to write the study to.")],
    recipe: Annotated[
        str,
        typer.Option("--as", help="As a paper did: bison, foil, bivlc, bivlc-baseline or mcic."),
    ] = "",
    ask: Annotated[str, typer.Option(help="Or the question (tellapart list questions).")] = "",
    then: Annotated[
        str, typer.Option(help="Questions about what was chosen, separated by commas.")
    ] = "",
    judgements: Annotated[
        OptionalText, typer.Option(help="Judgements of each item; 1,2 for two stages.")
    ] = None,
    twice: Annotated[
        OptionalText, typer.Option(help="Judge this share of items twice, the rest once.")
    ] = None,
    keep: Annotated[
        OptionalText, typer.Option(help="Who must agree: majority, all or first.")
    ] = None,
    stop: Annotated[
        OptionalText, typer.Option(help="full, or decided: ask no more than is needed.")
    ] = None,
    at_most: Annotated[OptionalText, typer.Option(help="Items that one person gets.")] = None,
    checks: Annotated[OptionalText, typer.Option(help="Share of attention checks.")] = None,
    gold: Annotated[OptionalText, typer.Option(help="Share of gold items.")] = None,
    gold_from: Annotated[str, typer.Option(help="The benchmark that gold items are from.")] = "",
    minutes: Annotated[
        OptionalText, typer.Option(help="How long a task stays reserved for someone.")
    ] = None,
    once: Annotated[
        str, typer.Option(help="What nobody sees twice: item, or question (about an item).")
    ] = "",
    prolific: Annotated[bool, typer.Option("--prolific", help="Take people of Prolific.")] = False,
    completion_code: Annotated[
        str, typer.Option(help="What people take back to Prolific (default: a new one).")
    ] = "",
    training: Annotated[bool, typer.Option(help="Begin with examples and explanations.")] = True,
    name: Annotated[str, typer.Option(help="The study's name, which people see.")] = "",
    seed: Seed = 0,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Set up a study of a benchmark's items, or of pairs.

    Options of stages take one value, or one for each stage, separated by commas.
    """
    from tellapart.benchmark.benchmark import load_benchmark
    from tellapart.study.folder import ITEMS, StudySetup, missing_pictures
    from tellapart.study.folder import create_study as make
    from tellapart.study.plan import find_recipe

    given = {
        "judgements": judgements, "twice": twice, "keep": keep, "stop": stop, "at_most": at_most,
        "checks": checks, "gold": gold, "minutes": minutes,
    }  # fmt: skip
    found = find_recipe(recipe) if recipe else None
    setup = StudySetup(
        stages=_changed(found.stages if found else _asked(ask, then), given),
        name=name,
        seed=seed,
        once=once or (found.once if found else "item"),
        prolific=prolific,
        completion_code=completion_code,
        gold=gold_from or None,
        training=training,
        overwrite=overwrite,
    )
    plan = make(source, out, setup)
    stages = [{"name": one.name, "ask": one.ask} for one in plan.stages]
    text = f"{plan.name}: {', then '.join(one.ask for one in plan.stages)}  ->  {out}"
    code = f"\ncompletion code for Prolific: {plan.completion_code}" if prolific else ""
    items = load_benchmark(out / ITEMS)
    missing = missing_pictures(items)
    if missing:
        note(f"warning: {missing:,} of {len(items.images):,} pictures are not there yet")
    emit(
        {"study": str(out), "name": plan.name, "stages": stages, "missing_pictures": missing},
        text + code,
        as_json,
    )


def _asked(ask: str, then: str) -> tuple[Stage, ...]:
    from tellapart.cli.output import listed
    from tellapart.errors import BadInput
    from tellapart.study.plan import RECIPES, Stage

    if not ask:
        raise BadInput(
            "what shall people be asked?",
            allowed=f"--ask QUESTION, or --as {', '.join(RECIPES)}",
            todo="see the questions with: tellapart list questions",
        )
    names = [ask, *listed(then)]
    return tuple(Stage(name, name) for name in names)


def _changed(stages: tuple[Stage, ...], given: dict[str, str | None]) -> tuple[Stage, ...]:
    """Stages with what the options say in place of their own."""
    from dataclasses import replace

    from tellapart.study.plan import each_stage

    changes: list[dict[str, Any]] = [{} for _ in stages]
    for name, text in given.items():
        if text is None:
            continue
        option = f"--{name.replace('_', '-')}"
        for change, value in zip(changes, each_stage(text, len(stages), option), strict=True):
            change[name] = _read(value, NUMBERS.get(name, str), option)
    return tuple(replace(stage, **change) for stage, change in zip(stages, changes, strict=True))


def _read(text: str, sort: type, option: str) -> Any:
    from tellapart.errors import BadInput

    try:
        return sort(text)
    except ValueError:
        raise BadInput(f"{option} {text}", allowed="a number for each stage") from None
