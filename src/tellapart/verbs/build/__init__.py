"""What builders share: their options, the corpus they read, the benchmark they write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
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
    """What every builder can be told; each builder's own options are a subclass.

    `verifier` is a model that says whether a caption is true of an image (a score above 0.5):
    `oracle` for the built-in world. Without one the benchmark is marked as not verified.
    `images` and what follows says how a corpus is read that is given as a path; with `look` it is
    an error if none of its pictures is there.
    """

    name: Annotated[str, Help("The benchmark's name (default: the builder's).")] = ""
    items: Annotated[int | None, Help("At most this many items.")] = None
    seed: Seed = 0
    verifier: Annotated[
        str, Help("A model that checks captions, such as oracle (built-in world).")
    ] = ""
    images: Annotated[Path | None, Help("Folder that holds the pictures.", last=True)] = None
    look: Annotated[bool, Help("Stop if none of the corpus's pictures is there.", last=True)] = True
    objects: Annotated[
        Path | None, Help("File that says which objects each image shows.", last=True)
    ] = None
    image_column: Annotated[str, Help("Tables: the column of images.", last=True)] = "image"
    caption_column: Annotated[str, Help("Tables: the column of captions.", last=True)] = "caption"
    copy_images: CopyImages = False
    skip_bad: SkipBad = False
    overwrite: Overwrite = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FairBuildOptions(BuildOptions):
    """For builders whose items must not be solved by their texts alone.

    What a text-only model knows comes from the corpus itself and from `captions_from`.
    """

    unfiltered: Annotated[bool, Help("Keep what a text-only model can tell, as the papers do.")] = (
        False
    )
    captions_from: Annotated[
        Any,
        Help("A further corpus whose captions text-only models may know: the more, the fairer."),
    ] = None

    def captions_known(self) -> Corpus | None:
        """The further corpus, if one is named."""
        return None if self.captions_from is None else open_corpus(self.captions_from)


READING = ("images", "objects", "image_column", "caption_column", "skip_bad")


def build(
    name: str,
    corpus: Path | str | Corpus,
    out: Path | str,
    options: BuildOptions = BuildOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Build a benchmark (`bison`, `mcic`, `foil`, ...) into a folder and return it.

    `options` are the builder's own (`BisonOptions(...)`), or `BuildOptions(...)` where its
    defaults will do.
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
    """The builder of a name; an unknown one is an error that names the near ones."""
    from tellapart.registry import builders

    builder = builders.get(name)
    if not isinstance(builder, Verb):
        raise BadInput(
            f"the builder {name!r} is no verb",
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
    if options.look and source is not corpus:  # one that was made in Python is known to its maker
        _check_pictures(source)
    return source


def _check_pictures(corpus: Corpus) -> None:
    """Raise where no picture is there: nobody can be asked about the items."""
    if not len(corpus) or any(picture.is_there() for picture in corpus):
        return
    first = next(iter(corpus))
    raise BadInput(
        f"none of the {len(corpus):,} pictures of {corpus.name} is there",
        where=f"such as {first.place}",
        allowed="a corpus with pictures",
        todo="name the folder that holds them with --images, or build from captions alone with "
        "--no-look (look=False) and give the pictures later",
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
    """The card of a benchmark that was built from a corpus; `how` are the builder's own facts.

    With the `items` it also says how near their wrong options are.
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
    """Why a fair part is empty, and what to do."""
    return BadInput(
        f"none of {candidates:,} candidates has a twin that text alone cannot tell from it",
        allowed="many captions in which either of two words is true",
        todo="give more captions, or keep what can be guessed with --unfiltered",
    )


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
    """What was written where, and the verdict on it."""
    from tellapart.mine.verdict import verdict

    return "\n".join([benchmark_text(benchmark), *(f"  {line}" for line in verdict(benchmark))])


def builder_verb(
    function: Callable[..., Benchmark],
    example: str,
    tables: Callable[[Mapping[str, Any]], Iterable[str]] = lambda made: (),
) -> Verb:
    """A builder as a verb: it prints tables of what the card says, and the verdict on it."""

    def text(benchmark: Benchmark) -> str:
        return "\n\n".join([*tables(benchmark.card.made), closing(benchmark)])

    def notes(benchmark: Benchmark) -> list[str]:
        return skipped_notes(benchmark.card.skipped)

    return Verb(function, example=example, text=text, json=benchmark_json, notes=notes)
