"""The command `build mcic`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tellapart.cli.building.command import add_builder
from tellapart.cli.output import listed
from tellapart.errors import BadInput

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


def register(app: typer.Typer) -> None:
    """Add the command."""
    example = "mcic captions.json my-mcic --images val2014 --split train:0.8,dev:0.1,test:0.1"
    add_builder(app, "mcic", own, example=example, tell=tell)


def own(
    way: Annotated[
        str,
        typer.Option(
            "--options",
            help="paper: decoys for each caption; fair-sets: five images share one set of "
            "options; auto: fair-sets on the built-in world, else paper.",
        ),
    ] = "auto",
    vectors: Annotated[
        str,
        typer.Option(
            help="paragraphs (trained here), tf-idf, sentences:NAME, a file .npy or .parquet with "
            "a vector a caption, or one of word vectors; auto: tf-idf, or paragraphs "
            "where gensim is installed and there are 50,000 captions."
        ),
    ] = "auto",
    dimensions: Annotated[
        str, typer.Option(help="Dimensions of paragraph vectors; several are a grid. [256]")
    ] = "",
    epochs: Annotated[
        str, typer.Option(help="Epochs of training; several are a grid. [as needed]")
    ] = "",
    weights: Annotated[
        str,
        typer.Option("--lambda", help="The cosine's share in Score; several are a grid. [0.3]"),
    ] = "",
    tune: Annotated[
        bool, typer.Option("--tune", help="Search grids for what is not given.")
    ] = False,
    sample: Annotated[int, typer.Option(help="Most captions to tune on.")] = 10_000,
    neighbours: Annotated[int, typer.Option(help="N: decoys are among so many.")] = 500,
    decoys: Annotated[int, typer.Option(help="Decoys of an item.")] = 4,
    limit: Annotated[float, typer.Option(help="L: no decoy with so high a BLEU.")] = 0.5,
    smoothing: Annotated[
        str, typer.Option(help="Smoothing of BLEU: exp, add-one, floor, epsilon, coco, none.")
    ] = "exp",
    search: Annotated[
        str, typer.Option(help="Search for neighbours: auto, exact, approximate.")
    ] = "auto",
    split: Annotated[
        str,
        typer.Option(help="Parts without common images, such as train:0.8,test:0.2."),
    ] = "",
    doubt: Annotated[
        float,
        typer.Option(help="Most chance that the image's captions left out what a decoy says."),
    ] = 0.1,
    without: Annotated[
        str,
        typer.Option(
            help="Guards to do without, as the paper does: length, shuffle, same-words, doubt, "
            "distinct, own-split, or all."
        ),
    ] = "",
    negative: Annotated[
        int, typer.Option(help="Training: words sampled against each; 0 for hierarchical softmax.")
    ] = 5,
    fast_training: Annotated[
        bool, typer.Option("--fast-training", help="Train on all cores; not repeatable.")
    ] = False,
) -> object:
    """An image and five captions, four of them decoys from other images."""
    from tellapart.verbs.build.mcic import McicOptions

    return McicOptions(
        way=way,
        vectors=vectors,
        dimensions=_numbers("--dimensions", dimensions, int),
        epochs=_numbers("--epochs", epochs, int),
        weights=_numbers("--lambda", weights, float),
        tune=tune,
        sample=sample,
        neighbours=neighbours,
        decoys=decoys,
        limit=limit,
        smoothing=smoothing,
        search=search,
        split=split,
        doubt=doubt,
        without=tuple(listed(without)),
        negative=negative,
        fast_training=fast_training,
    )


def _numbers(name: str, text: str, kind: Callable[[str], Any]) -> tuple[Any, ...]:
    """The numbers in an option that takes several, separated by commas."""
    try:
        return tuple(kind(one) for one in listed(text))
    except ValueError:
        raise BadInput(
            f"{name} {text} holds something else than numbers",
            allowed=f"{'whole ' if kind is int else ''}numbers, separated by commas",
        ) from None


def tell(benchmark: Benchmark) -> str:
    """The trials of tuning, the paper's Table 1 and more, then what came out."""
    from tellapart.verbs.build.mcic import VERB

    return VERB.text(benchmark).rpartition("  ->  ")[0]
