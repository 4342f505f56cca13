"""The verb `corpus`: several corpora as one, or part of one, in the toolkit's own format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Help, Overwrite, Seed, SkipBad
from tellapart.verbs import Verb, open_benchmark, open_corpus, skipped_notes

if TYPE_CHECKING:
    from tellapart.corpus.corpus import Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusOptions:
    """Which images to keep: all conditions must hold; `limit` then draws a sample."""

    images: Annotated[Path | None, Help("Folder with the pictures.")] = None
    ids: Annotated[
        tuple[Path | str, ...],
        Help("Only images listed in a file, one id per line; may be repeated.", repeat=True),
    ] = ()
    without: Annotated[
        tuple[Path | str, ...],
        Help("Exclude the images of this benchmark or corpus; may be repeated.", repeat=True),
    ] = ()
    with_images: Annotated[bool, Help("Only images whose pictures are found.")] = False
    limit: Annotated[int | None, Help("Keep a random sample of this many images.")] = None
    seed: Seed = 0
    name: Annotated[str, Help("Name of the new corpus (default: its folder's).")] = ""
    overwrite: Overwrite = False
    skip_bad: SkipBad = False


def gather_corpus(
    sources: Annotated[
        Sequence[Corpus | Path | str], Help("Corpora: folders, COCO JSON, CSV, token files, ...")
    ],
    out: Annotated[Path | str, Help("Folder to write to.", first=True)],
    options: CorpusOptions = CorpusOptions(),  # noqa: B008 (frozen)
) -> Corpus:
    """Combine corpora, or keep part of one.

    In Python: duplicate ids of images or captions are an error. Pictures stay where they are.
    """
    from tellapart.corpus.corpus import make_corpus, save_corpus
    from tellapart.corpus.native import load_corpus
    from tellapart.corpus.reader import ReadOptions
    from tellapart.errors import Problems
    from tellapart.pictures import moved_uris

    reading = ReadOptions(images=options.images, skip_bad=options.skip_bad)
    parts = [open_corpus(source, reading) for source in sources]
    if not parts:
        raise BadInput("no corpus was given", allowed="one or more")
    kept = _chosen(parts, options)
    root = parts[0].root
    images: list[dict[str, Any]] = []
    captions: list[dict[str, Any]] = []
    for part, chosen in zip(parts, kept, strict=True):
        uris = part.images["uri"].to_list()
        moved = uris if part.root == root else moved_uris(uris, part.root, root)
        rows = zip(part.images.iter_rows(named=True), moved, strict=True)
        images += [{**row, "uri": uri} for row, uri in rows if row["id"] in chosen]
        captions += [row for row in part.captions.iter_rows(named=True) if row["image"] in chosen]
    out = Path(out)
    about = {"by": "tellapart corpus", "of": {part.name: len(part) for part in parts}}
    problems = Problems(skip=options.skip_bad)
    name = options.name or out.resolve().name
    made = make_corpus(name, root, images, captions, problems=problems, about=about)
    save_corpus(made, out, overwrite=options.overwrite)
    return load_corpus(out)


def _chosen(parts: list[Corpus], options: CorpusOptions) -> list[frozenset[str]]:
    """The ids of the images to keep, for each corpus."""
    from tellapart import seeds
    from tellapart.corpus.reader import listed_ids

    known = {image for part in parts for image in part.images["id"]}
    ids = listed_ids(options.ids, known)
    gone = {image for where in options.without for image in _images_of(Path(where))}
    kept = [
        [
            image
            for image in part.images["id"]
            if (not options.ids or image in ids)
            and image not in gone
            and (not options.with_images or part.picture(image).is_there())
        ]
        for part in parts
    ]
    if options.limit is not None:
        places = [(k, image) for k, images in enumerate(kept) for image in images]
        if options.limit > len(places):
            raise BadInput(
                f"{options.limit:,} images cannot be drawn from {len(places):,}",
                allowed=f"1 to {len(places):,}",
            )
        drawn = seeds.rng(options.seed, "corpus").permutation(len(places))[: options.limit]
        some = {places[k] for k in drawn.tolist()}
        kept = [[i for i in images if (k, i) in some] for k, images in enumerate(kept)]
    return [frozenset(images) for images in kept]


def _images_of(where: Path) -> list[str]:
    if (where / "benchmark.json").is_file():
        return list(open_benchmark(where).images)
    return open_corpus(where).images["id"].to_list()


VERB = Verb(
    gather_corpus,
    example="tellapart corpus train flickr8k/captions.token.txt my-corpus --without my-bison",
    text=lambda corpus: f"{corpus}  ->  {corpus.root}",
    json=lambda corpus: {
        "corpus": str(corpus.root),
        "images": corpus.images.height,
        "captions": corpus.captions.height,
    },
    notes=lambda corpus: skipped_notes(corpus.skipped),
)
