"""Shared code of the builders: options, reading the corpus, writing the benchmark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import CopyImages, Help, Overwrite, Seed, SkipBad
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, benchmark_json, benchmark_text, open_corpus, skipped_notes

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark, Card
    from tellapart.corpus.corpus import Corpus
    from tellapart.items import Item

CorpusArgument = Annotated["Path | Corpus", Help("A corpus: a folder, COCO JSON, CSV, ...")]
OutArgument = Annotated["Path | str", Help("Folder to write the benchmark to.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildOptions:
    """Options of every builder; each builder's own options are a subclass.

    `verifier` is a model that decides whether a caption is true of an image (a score above 0.5),
    such as `oracle` for the built-in world. Without one, the benchmark is marked as not verified.
    `images` and the options after it say how to read a corpus given as a path; with `look`, it is
    an error if none of its pictures can be found.
    """

    name: Annotated[str, Help("Name of the benchmark (default: the builder's).")] = ""
    items: Annotated[int | None, Help("At most this many items.")] = None
    seed: Seed = 0
    verifier: Annotated[
        str, Help("Model that checks captions, such as oracle (built-in world).")
    ] = ""
    images: Annotated[Path | None, Help("Folder with the pictures.", last=True)] = None
    look: Annotated[
        bool, Help("Stop if none of the corpus's pictures can be found.", last=True)
    ] = True
    objects: Annotated[Path | None, Help("File with the objects in each image.", last=True)] = None
    image_column: Annotated[str, Help("Tables: name of the image column.", last=True)] = "image"
    caption_column: Annotated[str, Help("Tables: name of the caption column.", last=True)] = (
        "caption"
    )
    copy_images: CopyImages = False
    skip_bad: SkipBad = False
    overwrite: Overwrite = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FairBuildOptions(BuildOptions):
    """Options of builders whose items must not be solvable from their texts alone."""

    unfiltered: Annotated[
        bool, Help("Keep items that a text-only model can solve, as the papers do.")
    ] = False


READING = ("images", "objects", "image_column", "caption_column", "skip_bad")


def build(
    name: str,
    corpus: Path | str | Corpus,
    out: Path | str,
    options: BuildOptions = BuildOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Build a benchmark (`bison`, `mcic`, `foil`, ...) into a folder and return it.

    `options` are the builder's own (`BisonOptions(...)`), or `BuildOptions(...)` to keep the
    builder's defaults.
    """
    function = find_builder(name).function
    own: type[BuildOptions] = type(signature(function).parameters["options"].default)
    if type(options) is BuildOptions:
        options = own(**{field.name: getattr(options, field.name) for field in fields(options)})
    if not isinstance(options, own):
        raise BadInput(
            f"{type(options).__name__} are not options of this builder",
            allowed=f"{own.__name__}(...), or BuildOptions(...)",
        )
    benchmark: Benchmark = function(corpus, out, options, progress)
    return benchmark


def find_builder(name: str) -> Verb:
    """A builder by name; the error for an unknown name suggests similar ones."""
    from tellapart.registry import builders

    builder = builders.get(name)
    if not isinstance(builder, Verb):
        raise BadInput(
            f"the builder {name!r} is not a verb",
            where=f"entry point {name} of {builders.group}",
            allowed="a Verb, such as VERB = builder_verb(function, example=...)",
        )
    return builder


def source_corpus(corpus: Path | str | Corpus, out: Path | str, options: BuildOptions) -> Corpus:
    """The corpus to build from, after a check that the benchmark can be written."""
    from tellapart.corpus.reader import ReadOptions
    from tellapart.files import check_free

    if options.items is not None and options.items < 1:
        raise BadInput(f"items: {options.items}", allowed="1 or more")
    check_free(Path(out), overwrite=options.overwrite)
    source = open_corpus(corpus, ReadOptions(**{name: getattr(options, name) for name in READING}))
    if options.look and source is not corpus:  # the caller knows a corpus made in Python
        _check_pictures(source)
    return source


def _check_pictures(corpus: Corpus) -> None:
    """Raise if no picture is found: no model or person could answer the items."""
    if not len(corpus) or any(picture.is_there() for picture in corpus):
        return
    first = next(iter(corpus))
    raise BadInput(
        f"none of the {len(corpus):,} pictures of {corpus.name} was found",
        where=f"such as {first.place}",
        allowed="a corpus with pictures",
        todo="give their folder with --images, or build from the captions alone with --no-look "
        "(look=False) and add the pictures later",
    )


def builder_card(
    builder: str,
    corpus: Corpus,
    options: BuildOptions,
    how: Mapping[str, Any],
    measures: tuple[str, ...] = ("accuracy",),
    *,
    items: Sequence[Item] = (),
) -> Card:
    """The card of a benchmark built from a corpus; `how` has the builder's own facts.

    If `items` are given, it also says how similar their wrong options are.
    """
    from tellapart.benchmark.benchmark import Card
    from tellapart.mine.verdict import nearness

    return Card(
        name=options.name or builder,
        about=f"{builder} items built from {corpus.name}",
        measures=measures,
        made={
            "by": f"tellapart build {builder}",
            "corpus": corpus.name,
            "corpus_about": dict(corpus.about),
            "seed": options.seed,
            **how,
            "nearness": nearness(corpus, items, options.seed) if items else {},
        },
        verified=f"by the model {options.verifier}" if options.verifier else "",
        skipped=corpus.skipped,
    )


def nothing_fair(candidates: int) -> BadInput:
    """The error for an empty fair part: why, and what to do."""
    return BadInput(
        f"none of the {candidates:,} candidates is true of another image, by its captions",
        allowed="many captions that say like things of different pictures",
        todo="give more captions, or keep guessable items with --unfiltered",
    )


def twins(pairs: Iterable[tuple[Item, Item]]) -> list[Item]:
    """The items of balanced pairs, with a note in both that names their pair."""
    from tellapart.benchmark.groups import TWINS

    named: list[Item] = []
    for pair in pairs:
        for item in pair:
            notes = {**item.origin.notes, TWINS: pair[0].id}
            named.append(replace(item, origin=replace(item.origin, notes=notes)))
    return named


def text_alone_card(
    items: Sequence[Item], corpus: Corpus, seed: int, progress: Progress
) -> dict[str, Any]:
    """For the card: what attackers get of items that know the corpus's captions of other images."""
    from tellapart.attack.attack import Attackers, attack_benchmark
    from tellapart.attack.statistics import CaptionSource
    from tellapart.benchmark.benchmark import Card, make_benchmark

    images = [corpus.image(image) for image in dict.fromkeys(item.images[0] for item in items)]
    benchmark = make_benchmark(Card("kept"), corpus.root, items, images)
    source = CaptionSource.of_corpus(corpus)
    attack = attack_benchmark(benchmark, source, Attackers(seed), progress)
    return {"text_alone": attack.to_card()} if attack else {}


def save_items(
    card: Card,
    corpus: Corpus,
    items: Iterable[Item],
    out: Path | str,
    *,
    overwrite: bool,
    copy_images: bool = False,
) -> Benchmark:
    """Write items with their card as a benchmark."""
    from tellapart.benchmark.benchmark import make_benchmark
    from tellapart.benchmark.image_files import save_portable

    images = (corpus.image(image_id) for image_id in corpus.images["id"])
    benchmark = make_benchmark(card, corpus.root, items, images)
    return save_portable(benchmark, Path(out), overwrite=overwrite, copy_images=copy_images)


def closing(benchmark: Benchmark) -> str:
    """What was written where, and the verdict on the benchmark."""
    from tellapart.mine.verdict import verdict

    return "\n".join([benchmark_text(benchmark), *(f"  {line}" for line in verdict(benchmark))])


def builder_verb(
    function: Callable[..., Benchmark],
    example: str,
    tables: Callable[[Mapping[str, Any]], Iterable[str]] = lambda made: (),
) -> Verb:
    """A builder as a verb that prints tables from the card, and the verdict on the benchmark."""

    def text(benchmark: Benchmark) -> str:
        return "\n\n".join([*tables(benchmark.card.made), closing(benchmark)])

    def notes(benchmark: Benchmark) -> list[str]:
        return skipped_notes(benchmark.card.skipped)

    return Verb(function, example=example, text=text, json=benchmark_json, notes=notes)
