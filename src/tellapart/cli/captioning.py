"""The verb `captions`: scores of captions that systems wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from tellapart.cli.keeping import Cache, stoppable
from tellapart.cli.output import Json, Seed, SkipBad, emit, listed, progress_bars

OptionalPath = Optional[Path]  # noqa: UP045 (typer reads annotations at run time)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        epilog="Example: tellapart captions mine.json other.json --references captions_val2014.json"
    )(captions)


def captions(
    results: Annotated[
        list[Path], typer.Argument(help="COCO results files, or tables of images and captions.")
    ],
    references: Annotated[Path, typer.Option(help="What people wrote: any corpus.")],
    metrics: Annotated[
        str, typer.Option(help="Names, separated by commas, or all (see: list caption-metrics).")
    ] = "",
    references_used: Annotated[
        str, typer.Option(help="Also with so many random references an image: 1 or 1,2,3 or 1-5.")
    ] = "",
    repeats: Annotated[int, typer.Option(help="How often random references are drawn.")] = 10,
    frequencies: Annotated[
        str,
        typer.Option(
            help="CIDEr's document frequencies: of the references of the images judged (as the "
            "COCO scripts do), of all references, or of the corpus at a path."
        ),
    ] = "judged",
    per_image: Annotated[
        OptionalPath, typer.Option(help="Write a row an image to this .parquet, .csv or .jsonl.")
    ] = None,
    every_image: Annotated[
        bool,
        typer.Option("--every-image", help="An image without a caption counts as an empty one."),
    ] = False,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples for the intervals.")] = 2_000,
    permutations: Annotated[int, typer.Option(help="Random swaps for the tests.")] = 10_000,
    seed: Seed = 0,
    image_column: Annotated[
        str, typer.Option(help="Tables: the column of images (default: image_id or image).")
    ] = "",
    caption_column: Annotated[
        str, typer.Option(help="Tables: the column of captions.")
    ] = "caption",
    cache: Cache = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table instead.")] = False,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Judge captions against references: BLEU, ROUGE-L, CIDEr, METEOR and others.

    Several systems are put side by side, every two with a paired test.
    """
    from tellapart.corpus.reader import ReadOptions
    from tellapart.measures.captioning.captions import captions as judge
    from tellapart.measures.captioning.fewer import Fewer
    from tellapart.measures.captioning.judging import Effort
    from tellapart.measures.captioning.options import NATIVE, CaptionOptions
    from tellapart.measures.captioning.results import check_table_name, write_per_image
    from tellapart.measures.captioning.systems import Columns
    from tellapart.store.cache import default_folder

    if per_image is not None:
        check_table_name(per_image)
    options = CaptionOptions(
        metrics=tuple(listed(metrics)) or NATIVE,
        fewer=Fewer(_numbers(references_used), repeats, seed),
        frequencies=frequencies,
        every_image=every_image,
        effort=Effort(resamples, permutations, seed),
        columns=Columns(image_column, caption_column),
        reading=ReadOptions(
            image_column=image_column or "image", caption_column=caption_column, skip_bad=skip_bad
        ),
        skip_bad=skip_bad,
        cache=cache or default_folder(),
    )
    with stoppable(), progress_bars() as progress:
        found = judge(results, references, options, progress)
    if per_image is not None:
        write_per_image(found, per_image)
    emit(found.to_json(), found.to_latex() if latex else str(found), as_json)


def _numbers(text: str) -> tuple[int, ...]:
    """`3`, `1,3,5` or `1-5`."""
    from tellapart.errors import BadInput

    found: list[int] = []
    for part in listed(text):
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise BadInput(f"--references-used {text} are not numbers", allowed="1 or 1,3 or 1-5")
        found += range(int(first), int(last if dash else first) + 1)
    return tuple(dict.fromkeys(found))
