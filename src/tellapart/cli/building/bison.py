"""The command `build bison`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tellapart.cli.building.command import add_builder

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


def register(app: typer.Typer) -> None:
    """Add the command."""
    example = "bison captions.json my-bison --images val2014 --vectors crawl-300d-2M.vec"
    add_builder(app, "bison", own, example=example, tell=tell)


def own(
    vectors: Annotated[
        str,
        typer.Option(
            help="What images are compared by: a file of word vectors (fastText, word2vec, GloVe), "
            "fasttext (trained here), tf-idf, paragraphs, sentences:NAME, or auto: fasttext where "
            "gensim is installed and there are 20,000 captions, else tf-idf."
        ),
    ] = "auto",
    neighbours: Annotated[int, typer.Option(help="Decoys for each image.")] = 1,
    directions: Annotated[
        str, typer.Option(help="both: each image of a pair is the target in turn; one.")
    ] = "both",
    for_study: Annotated[
        bool,
        typer.Option(
            "--for-study/--auto",
            help="Write the pairs with all captions for a study with people, or propose the "
            "caption that tells most (not verified; with a verifier: one that it lets through).",
        ),
    ] = False,
    least_telling: Annotated[
        float,
        typer.Option(
            help="Without a verifier: drop a pair if no caption is exp(this) times likelier to be "
            "said of the target than of the decoy."
        ),
    ] = 3.5,
    search: Annotated[
        str, typer.Option(help="Search for neighbours: auto, exact, approximate.")
    ] = "auto",
    parser: Annotated[
        str, typer.Option(help="spaCy pipeline that parts of speech are counted by, or none.")
    ] = "auto",
    fast_training: Annotated[
        bool, typer.Option("--fast-training", help="Train on all cores; not repeatable.")
    ] = False,
) -> object:
    """A caption and two similar images, of which it describes one."""
    from tellapart.verbs.build.bison import BisonOptions

    return BisonOptions(
        vectors=vectors,
        neighbours=neighbours,
        directions=directions,
        least_telling=least_telling,
        for_study=for_study,
        search=search,
        parser=parser,
        fast_training=fast_training,
    )


def tell(benchmark: Benchmark) -> str:
    """The paper's statistics, then what came out."""
    from tellapart.verbs.build.bison import VERB

    return VERB.text(benchmark).rpartition("  ->  ")[0]
