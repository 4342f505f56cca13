"""The verb `retrieve`: recall@k, both directions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from tellapart.cli.keeping import Cache, CacheSize, NoCache, stoppable
from tellapart.cli.output import Json, Seed, SkipBad, emit, list_skipped, listed, progress_bars

OptionalPath = Optional[Path]  # noqa: UP045 (typer reads annotations at run time)


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog="Example: tellapart retrieve storybook --on my-world --sizes 100,1000")(
        retrieve
    )


def retrieve(
    model: Annotated[str, typer.Argument(help="A model string; see: tellapart list models")],
    on: Annotated[Path, typer.Option(help="A corpus: a folder, COCO JSON, CSV, ...")],
    images: Annotated[OptionalPath, typer.Option(help="Folder that holds the pictures.")] = None,
    sizes: Annotated[
        str, typer.Option(help="Also on random collections of so many images: 100,1000.")
    ] = "",
    limit: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(help="Only a random sample of so many images."),
    ] = None,
    seed: Seed = 0,
    batch_size: Annotated[int, typer.Option(help="Inputs at a time.")] = 64,
    image_column: Annotated[str, typer.Option(help="Tables: the column of images.")] = "image",
    caption_column: Annotated[
        str, typer.Option(help="Tables: the column of captions.")
    ] = "caption",
    cache: Cache = None,
    no_cache: NoCache = False,
    cache_gb: CacheSize = 8.0,
    skip_bad: SkipBad = False,
    as_json: Json = False,
) -> None:
    """Find images by their captions and captions by their images: recall@1/5/10, ranks."""
    from tellapart.corpus.reader import ReadOptions, read_corpus
    from tellapart.measures.retrieval import RetrievalOptions
    from tellapart.measures.retrieval import retrieve as rank
    from tellapart.models.names import load
    from tellapart.store.cache import default_folder

    options = RetrievalOptions(
        sizes=_numbers(sizes),
        limit=limit,
        seed=seed,
        batch_size=batch_size,
        skip_bad=skip_bad,
        cache=None if no_cache else cache or default_folder(),
        cache_gb=cache_gb,
    )
    reading = ReadOptions(
        images=images, image_column=image_column, caption_column=caption_column, skip_bad=skip_bad
    )
    corpus = read_corpus(on, reading)
    with stoppable(), progress_bars() as progress:
        found = rank(load(model), corpus, options, progress)
    list_skipped(corpus.skipped + found.skipped)
    emit(found.to_json(), str(found), as_json)


def _numbers(text: str) -> tuple[int, ...]:
    from tellapart.errors import BadInput

    parts = listed(text)
    if not all(part.isdigit() for part in parts):
        raise BadInput(f"--sizes {text} are not numbers", allowed="such as 100,1000,5000")
    return tuple(int(part) for part in parts)
