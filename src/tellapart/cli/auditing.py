"""The verb `audit`: what can be guessed without looking?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from tellapart.cli.output import Json, emit, progress_bars

OptionalPath = Optional[Path]  # noqa: UP045


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(epilog="Example: tellapart audit my-mcic --overlap-with my-training-set")(audit)


def audit(
    benchmark: Annotated[str, typer.Argument(help="A benchmark's folder, or its name.")],
    corpus: Annotated[
        OptionalPath,
        typer.Option(help="Captions (and objects) to hold FOIL's own rules against."),
    ] = None,
    objects: Annotated[
        OptionalPath, typer.Option(help="File that says which objects each image shows.")
    ] = None,
    synonyms: Annotated[
        OptionalPath, typer.Option(help="JSON file that says which category a word names.")
    ] = None,
    overlap_with: Annotated[
        OptionalPath,
        typer.Option(help="A corpus or benchmark whose images should not be in this one."),
    ] = None,
    lm: Annotated[
        str, typer.Option(help="Also a causal language model: a folder or a name (transformers).")
    ] = "",
    images: Annotated[bool, typer.Option(help="Also guess from the pictures alone.")] = True,
    as_json: Json = False,
) -> None:
    """Find what can be guessed without looking, and what is odd about the items."""
    from tellapart.audits.audit import AuditOptions
    from tellapart.audits.audit import audit as find
    from tellapart.audits.findings import open_other, read_synonyms
    from tellapart.corpus.reader import ReadOptions, read_corpus
    from tellapart.errors import BadInput

    if corpus is None and (objects is not None or synonyms is not None):
        raise BadInput(
            "--objects and --synonyms say more of a corpus, and there is none",
            todo="name the corpus with --corpus",
        )
    captions = None if corpus is None else read_corpus(corpus, ReadOptions(objects=objects))
    other = None if overlap_with is None else open_other(overlap_with)
    with progress_bars() as progress:
        options = AuditOptions(
            lm=lm,
            images=images,
            synonyms=read_synonyms(synonyms) if synonyms else {},
            progress=progress,
        )
        found = find(benchmark, corpus=captions, overlap_with=other, options=options)
    emit(found.to_json(), str(found), as_json)
