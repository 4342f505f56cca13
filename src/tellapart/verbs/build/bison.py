"""`build bison`: a caption and two similar images, one of which it describes.

Hu et al. 2019, section 4.1. People do the paper's second and third stage (`for_study`);
otherwise a verifier chooses the captions, or a rule proposes them and the benchmark is not
verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput, UnknownName
from tellapart.options import Gather, Help, ShardShare, Workers
from tellapart.types import Progress, silent
from tellapart.verbs.build import (
    BuildOptions,
    CorpusArgument,
    OutArgument,
    builder_card,
    builder_verb,
    save_items,
    source_corpus,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.mine.captions import MinedCaptions
    from tellapart.mine.image_pairs import (
        HardestVerified,
        ImagePair,
        MostInformative,
        NearestImages,
        PairCounts,
    )
    from tellapart.work.stages import StagedCrew

DIRECTIONS = ("both", "one")


@dataclass(frozen=True, slots=True, kw_only=True)
class BisonOptions(BuildOptions):
    """How image pairs are found, and what is built from them.

    With `directions` "both", each image of a pair is the target in turn, as in the released data.
    Without a verifier, the most informative caption is proposed if its score is at least
    `least_telling` (see `mine/informativeness.py`).
    """

    vectors: Annotated[
        str,
        Help(
            "Vectors for comparing images by their captions: a file of word vectors (fastText, "
            "word2vec, GloVe), fasttext (trained here), tf-idf, paragraphs, sentences:NAME, or "
            "auto: fasttext if gensim is installed and there are 20,000 captions, else tf-idf."
        ),
    ] = "auto"
    neighbours: Annotated[int, Help("Decoys per image.")] = 1
    directions: Annotated[
        str, Help("both: each image of a pair is the target in turn; one: each pair is asked once.")
    ] = "both"
    for_study: Annotated[
        bool,
        Help(
            "Write the pairs with all captions for a study with people, or propose the most "
            "informative caption (not verified; with a verifier: one that it accepts).",
            flag="--for-study/--auto",
        ),
    ] = False
    least_telling: Annotated[
        float,
        Help(
            "Without a verifier: drop a pair if no caption is exp(this) times likelier for the "
            "target than for the decoy."
        ),
    ] = 3.5
    search: Annotated[str, Help("Neighbour search: auto, exact or approximate.")] = "auto"
    parser: Annotated[str, Help("spaCy pipeline for counting parts of speech, or none.")] = "auto"
    fast_training: Annotated[bool, Help("Train on all cores; not reproducible.")] = False
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False

    def check(self) -> None:
        """Raise for invalid values."""
        if self.neighbours < 1:
            raise BadInput(f"neighbours: {self.neighbours}", allowed="1 or more")
        if self.directions not in DIRECTIONS:
            raise UnknownName("way to ask a pair", self.directions, DIRECTIONS)


def bison(
    corpus: CorpusArgument,
    out: OutArgument,
    options: BisonOptions = BisonOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """A caption and two similar images, one of which it describes."""
    from tellapart.work.stages import staged_crew

    options.check()
    with staged_crew(Path(out), options.workers, options.shard, options.gather) as crew:
        return _built(source_corpus(corpus, out, options), Path(out), options, crew, progress)


def _built(
    source: Corpus,
    out: Path,
    options: BisonOptions,
    crew: StagedCrew | None,
    progress: Progress,
) -> Benchmark:
    from tellapart.mine.captions import MinedCaptions
    from tellapart.mine.image_pairs import NearestImages, image_pairs
    from tellapart.mine.neighbours.nearest import Search
    from tellapart.mine.statistics import bison_statistics
    from tellapart.mine.vectors import VectorTraining, image_vectors

    captions = MinedCaptions.of(source)
    training = VectorTraining(options.seed, options.fast_training, progress)
    vectors = image_vectors(captions, options.vectors, training)
    chooser = _chooser(captions, source, options)
    search = Search(options.search, seed=options.seed)
    number = options.neighbours * chooser.tries
    nearest = NearestImages(source, captions, vectors, number, search, crew)
    targets = nearest.each(progress, in_random_order=options.items is not None)
    how = {**vectors.about, **nearest.for_card(), "directions": options.directions}
    if options.for_study:
        pairs = list(islice(image_pairs(targets, options.directions), options.items))
        _check_some(len(pairs), nearest, chooser.counts, options)
        return _write_for_study(pairs, captions, source, out, options, how)
    asked = list(islice(chooser.captioned(targets), options.items))
    _check_some(len(asked), nearest, chooser.counts, options)
    # Parts of speech of the built-in world say nothing: its grammar is known.
    in_world = options.parser == "auto" and source.about.get("world")
    parser = "none" if in_world else options.parser
    how |= {
        "caption": chooser.rule,
        "pairs": chooser.counts.pairs,
        "pairs_that_no_caption_tells_apart": chooser.counts.dropped,
        "statistics": bison_statistics(captions, asked, parser, options.seed, progress),
    }
    items = [one.item(captions, source.name, options.seed) for one in asked]
    card = builder_card("bison", source, options, how, items=items)
    return save_items(
        card, source, items, out, overwrite=options.overwrite, copy_images=options.copy_images
    )


def _chooser(
    captions: MinedCaptions, corpus: Corpus, options: BisonOptions
) -> MostInformative | HardestVerified:
    """The chooser of captions: by a verifier if there is one."""
    from tellapart.mine.image_pairs import HardestVerified, MostInformative
    from tellapart.mine.verifier import Verifier

    if not options.verifier or options.for_study:
        return MostInformative(captions, options.directions, options.least_telling)
    verifier = Verifier(corpus, options.verifier)
    return HardestVerified(captions, options.directions, options.neighbours, verifier)


def _check_some(
    number: int, nearest: NearestImages, counts: PairCounts, options: BisonOptions
) -> None:
    """Raise an error with the reason if there are no items."""
    if number:
        return
    images, known = len(nearest.captions.images), len(nearest.known)
    if images < 2:
        why = "the corpus has captions of only one image, and a decoy must be another image"
    elif known < 2:
        why = f"{images - known:,} of {images:,} images have no words with vectors"
    elif not counts.pairs:
        why = f"all {known:,} images have the same captions, or are the same picture"
    else:
        why = f"no caption tells the images of any of the {counts.pairs:,} pairs apart"
    raise BadInput(
        f"{options.name or 'bison'} has no items: {why}",
        allowed="images with captions that differ",
        todo="use a larger corpus, or looser options (--neighbours, --least-telling)",
    )


def _write_for_study(
    pairs: list[ImagePair],
    captions: MinedCaptions,
    corpus: Corpus,
    out: Path,
    options: BisonOptions,
    how: dict[str, Any],
) -> Benchmark:
    """Write the pairs for a study, and also as a benchmark that is not verified."""
    from tellapart.benchmark.benchmark import load_benchmark
    from tellapart.files import whole_folder
    from tellapart.mine.image_pairs import study_item, study_rows, write_pairs

    rows = study_rows(pairs, captions)
    items = [study_item(row, corpus.name, options.seed) for row in rows]
    how = {"pairs": "to annotate", **how}
    card = builder_card("bison", corpus, options, how, items=items)
    facts = {"corpus": corpus.name, "seed": options.seed, "how": how}
    with whole_folder(out, overwrite=options.overwrite) as partial:
        save_items(card, corpus, items, partial, overwrite=True, copy_images=options.copy_images)
        write_pairs(partial, options.name or "bison", rows, facts)
    return load_benchmark(out)


def _tables(made: Mapping[str, Any]) -> Iterator[str]:
    """The paper's statistics."""
    from tellapart.mine.statistics import bison_table

    if made.get("statistics"):
        yield bison_table(made["statistics"])


VERB = builder_verb(
    bison,
    "tellapart build bison captions.json my-bison --images val2014 --vectors crawl-300d-2M.vec",
    _tables,
)
