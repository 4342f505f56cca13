"""The verb `get`: published benchmarks, from the files that their authors release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from typer.core import TyperCommand

from tellapart.cli.output import (
    Json,
    Overwrite,
    Seed,
    SkipBad,
    emit,
    list_skipped,
    note,
    progress_bars,
)
from tellapart.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.benchmark.published.options import Columns

OptionalPath = Optional[Path]  # noqa: UP045 (typer reads annotations at run time)
FILES = "--from"


class GetCommand(TyperCommand):
    """A command whose --from takes all that stands between it and the next option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Repeat --from before each of its files, which is the form that Click knows."""
        return super().parse_args(ctx, spread(args))


def spread(args: list[str]) -> list[str]:
    """Arguments with --from before each of the files that follow one.

    >>> spread(["aro", "--from", "a.json", "b.json", "--json"])
    ['aro', '--from', 'a.json', '--from', 'b.json', '--json']
    """
    made: list[str] = []
    inside = False
    for argument in args:
        option = argument.startswith("-")
        if inside and not option and made[-1] != FILES:
            made.append(FILES)
        inside = argument == FILES or (inside and not option)
        made.append(argument)
    return made


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        cls=GetCommand,
        epilog="Example: tellapart get sugarcrepe my-sugarcrepe --from sugar-crepe/data/*.json "
        "--images coco/val2017",
    )(get)


def get(
    name: Annotated[
        str,
        typer.Argument(
            help="aro, bison, bivlc, foil, mcic, pairs, sugarcrepe, valse, winoground, or a plugin."
        ),
    ],
    out: Annotated[
        OptionalPath, typer.Argument(help="Folder to write to (default: under TELLAPART_HOME).")
    ] = None,
    files: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            FILES,
            metavar="FILES...",
            help="Files, folders that hold them, or hf:owner/name; left out, they are downloaded "
            "where that can be done (sugarcrepe).",
        ),
    ] = None,
    images: Annotated[OptionalPath, typer.Option(help="Folder that holds the pictures.")] = None,
    only_with_images: Annotated[
        bool, typer.Option("--only-with-images", help="Only items whose pictures are all there.")
    ] = False,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Leave out items that are there twice.")
    ] = False,
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Do not shuffle options.")
    ] = False,
    keep_all: Annotated[
        bool, typer.Option("--all", help="valse: also what its annotators did not confirm.")
    ] = False,
    same_form: Annotated[
        bool,
        typer.Option("--alike", help="Write all captions in one form: capital, final stop."),
    ] = False,
    column: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="pairs: a column's name, such as negative_caption=foil."),
    ] = None,
    seed: Seed = 0,
    benchmark_name: Annotated[
        str, typer.Option("--name", help="The benchmark's name (default: its source's).")
    ] = "",
    skip_bad: SkipBad = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Get a published benchmark from its authors' files."""
    from tellapart.benchmark.benchmark import card_json
    from tellapart.benchmark.published.importer import get as fetch_and_read
    from tellapart.benchmark.published.options import GetOptions

    options = GetOptions(
        images=images,
        only_with_images=only_with_images,
        drop_duplicates=drop_duplicates,
        keep_order=keep_order,
        keep_all=keep_all,
        alike=same_form,
        seed=seed,
        name=benchmark_name,
        skip_bad=skip_bad,
        overwrite=overwrite,
        columns=_columns(column or []),
    )
    with progress_bars() as progress:
        benchmark = fetch_and_read(name, files or [], out, options, progress=progress)
    list_skipped(benchmark.card.skipped)
    _remarks(benchmark)
    emit(card_json(benchmark), f"{benchmark}  ->  {benchmark.root}", as_json)


def _columns(given: list[str]) -> Columns:
    from tellapart.benchmark.published.options import Columns

    named: dict[str, str] = {}
    for text in given:
        ours, mark, theirs = text.partition("=")
        if not mark or not theirs:
            raise BadInput(
                f"--column {text!r} does not say which column is which",
                allowed="OURS=YOURS, such as --column negative_caption=foil",
            )
        if ours not in Columns.__dataclass_fields__:
            raise UnknownName("column", ours, Columns.__dataclass_fields__)
        named[ours] = theirs
    return Columns(**named)


def _remarks(benchmark: Benchmark) -> None:
    """Say on stderr what a person should know of what came in."""
    made = benchmark.card.made
    doubles = made["duplicates"]
    if doubles["items"]:
        kept = "kept and flagged" if doubles["kept"] else "left out"
        note(f"{doubles['items']:,} items ask the same as an earlier one: {kept}")
    if made.get("left_out_unconfirmed"):
        note(
            f"{made['left_out_unconfirmed']:,} pairs that people did not confirm: left out (--all)"
        )
    if made.get("left_out_without_images"):
        note(f"{made['left_out_without_images']:,} items without their pictures: left out")
    elif made["images"]["missing"]:
        note(f"{made['images']['missing']:,} pictures were not found: name their folder (--images)")
