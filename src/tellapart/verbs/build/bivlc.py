"""`build bivlc`: two images and two captions that differ in one detail, asked in both directions.

Miranda et al. 2024, section 3. The maker decides where the second picture comes from:

- none given: the edited scene of the built-in world is drawn, one near miss per image;
- one that makes pictures from captions (or edits a picture by a caption): candidates for each
  negative caption, from which people, simulated people or a scorer choose;
- `photo:`: real photographs with boxes, mirrored or with objects removed.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
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
    source_corpus,
)

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark, Card
    from tellapart.corpus.corpus import Corpus
    from tellapart.items import Image, Item
    from tellapart.makers.candidates import Candidates, MakerCrew
    from tellapart.makers.maker import ImageMaker, ImageRequest
    from tellapart.mine.hard_images import HardCaption

MEASURES = ("Group", "I2T", "T2I", "Ipos2T", "Ineg2T", "Tpos2I", "Tneg2I")
CITATION = (
    "Miranda, Salaberria, Agirre, Azkune 2024, BiVLC: Extending Vision-Language Compositionality "
    "Evaluation with Text-to-Image Retrieval"
)
CANDIDATES = "candidates"


@dataclass(frozen=True, slots=True, kw_only=True)
class BivlcOptions(BuildOptions):
    """Kinds of near miss, the maker of the pictures, and who chooses among them."""

    kinds: Annotated[
        tuple[str, ...], Help("Kinds of near miss, separated by commas (default: all).")
    ] = ()
    maker: Annotated[
        str, Help("Maker of the second pictures, such as photo: (see: tellapart list makers).")
    ] = ""
    candidates: Annotated[int, Help("How many pictures to make for each negative caption.")] = 4
    boxes: Annotated[
        Path | None,
        Help("photo: the file of boxes (COCO instances, or one list of boxes per image)."),
    ] = None
    auto: Annotated[
        str, Help("Scorer that chooses instead of people; its choices count as not verified.")
    ] = ""
    margin: Annotated[float, Help("--auto: by how much the right caption must score better.")] = 0.0
    people: Annotated[
        int, Help("Have this many simulated people choose in a study (built-in world only).")
    ] = 0
    error: Annotated[float, Help("--people: share of wrong answers.")] = 0.0
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False

    def checked_kinds(self, known: Sequence[str]) -> tuple[str, ...]:
        """The kinds to use (default: all); raises for unknown ones."""
        for kind in self.kinds:
            if kind not in known:
                raise UnknownName("kind of near miss", kind, known)
        return self.kinds or tuple(known)


def bivlc(
    corpus: CorpusArgument,
    out: OutArgument,
    options: BivlcOptions = BivlcOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Two images and two captions that differ in one detail, asked in both directions.

    With a maker, CORPUS may also be a benchmark of negative captions.
    """
    _check(options)
    if not options.maker:
        return _drawn(corpus, Path(out), options, progress)
    from tellapart.makers.maker import load_maker

    maker = load_maker(options.maker)
    if maker.needs == "boxes":
        return _photos(corpus, Path(out), maker, options, progress)
    return _generated(corpus, Path(out), maker, options, progress)


def _check(options: BivlcOptions) -> None:
    if options.auto and options.people:
        raise BadInput("--auto and --people exclude each other", todo="give only one of them")
    if (options.auto or options.people) and not options.maker:
        raise BadInput("--auto and --people need a maker", todo="name a maker with --maker")
    if options.candidates < 1:
        raise BadInput(f"candidates: {options.candidates}", allowed="1 or more")
    if (options.workers or options.shard or options.gather) and not options.maker:
        from tellapart.work.stages import no_shards

        raise no_shards("drawing edited scenes", "a maker of pictures, named with --maker")


def _drawn(
    corpus: Path | str | Corpus, out: Path, options: BivlcOptions, progress: Progress
) -> Benchmark:
    """Draw the world's edited scenes, which are true by construction."""
    from tellapart.benchmark.benchmark import load_benchmark, make_benchmark, write_benchmark
    from tellapart.benchmark.image_files import with_copies
    from tellapart.corpus.world.painter import SIDE, png_bytes
    from tellapart.corpus.world.world import painter_of
    from tellapart.files import whole_folder
    from tellapart.items import KINDS, Grid, Image, Item, Origin
    from tellapart.mine.hard_images import BY, near_misses
    from tellapart.seeds import rng

    kinds = options.checked_kinds(KINDS)
    source = source_corpus(corpus, out, options)
    painter = painter_of(source.about)
    items: list[Item] = []
    images = {image_id: source.image(image_id) for image_id in source.images["id"]}
    with whole_folder(out, overwrite=options.overwrite) as partial:
        (partial / "images").mkdir()
        for image, miss in near_misses(source, kinds, options.items, options.seed, progress):
            name = f"{image}-{miss.kind}"
            data = png_bytes(painter.paint(miss.negative_scene), miss.negative_scene)
            uri = f"images/{name}.png"
            (partial / uri).write_bytes(data)
            images[name] = Image(name, uri, hashlib.sha256(data).hexdigest(), SIDE, SIDE)
            coins = rng(options.seed, "bivlc", "order", image).integers(2, size=2).tolist()
            orders = [(coin, 1 - coin) for coin in coins]
            grid = Grid.square((image, name), (miss.caption, miss.negative_caption), *orders)
            origin = Origin(BY, source.name, image, options.seed)
            items.append(Item.built("bivlc", grid, kind=miss.kind, origin=origin))
        how = {"kinds": list(kinds), "images": "drawn from the edited scenes"}
        card = replace(
            builder_card("bivlc", source, options, how, MEASURES, items=items),
            verified="by construction: each caption is true of its own scene alone",
        )
        made = make_benchmark(card, source.root, items, images.values())
        write_benchmark(with_copies(made, partial) if options.copy_images else made, partial)
    return load_benchmark(out)


def _photos(
    corpus: Path | str | Corpus,
    out: Path,
    maker: ImageMaker,
    options: BivlcOptions,
    progress: Progress,
) -> Benchmark:
    """Photographs with boxes: the maker treats both pictures of a pair alike."""
    from tellapart.corpus.categories import categories_for
    from tellapart.image_features.boxes import read_labelled_boxes
    from tellapart.mine.hard_images import by_kind
    from tellapart.mine.photos.items import (
        photo_items,
        photo_requests,
        refusal_counts,
        sample_pairs,
        without_derivatives,
    )
    from tellapart.mine.photos.names import object_names
    from tellapart.mine.photos.pairs import PHOTO_KINDS, photo_pairs

    kinds = options.checked_kinds(PHOTO_KINDS)
    source = source_corpus(corpus, out, options)
    if options.boxes is None:
        raise BadInput(
            "the objects' boxes are missing",
            allowed="--boxes FILE: COCO instances, or one list of boxes per image",
        )
    names = object_names(categories_for(source))
    found = photo_pairs(source, read_labelled_boxes(options.boxes), names, kinds, options.seed)
    pairs = sample_pairs(found.pairs, options.items, options.seed)
    requests = photo_requests(pairs, source, options.seed)
    given = Path(corpus) if isinstance(corpus, str | Path) else None
    forbidden = without_derivatives(given) if given and given.is_file() else frozenset()
    items = list(photo_items(pairs, source, forbidden, options.seed))
    how = {
        "kinds": list(kinds),
        "steps": {
            "pairs found": by_kind(pair.kind for pair in found.pairs),
            "made": by_kind(item.kind for item in items),
        },
        "refused": refusal_counts(found.refused),
        "no_derivatives": sum(item.origin.notes.get("licence", "") != "" for item in items),
        "images": "both pictures of a pair cropped to whole blocks and encoded in the same way",
        "maker": maker.facts.to_json(),
    }

    def finish(made: Candidates, partial: Path) -> Benchmark:
        from tellapart.benchmark.benchmark import make_benchmark

        there = [item for item in items if all(image in made.images for image in item.images)]
        card = builder_card("bivlc", source, options, how, MEASURES, items=there)
        card = replace(card, citation=CITATION)
        return make_benchmark(card, partial, there, made.images.values())

    return _made(maker, requests, out, options, finish, progress)


def _made(
    maker: ImageMaker,
    requests: Sequence[ImageRequest],
    out: Path,
    options: BivlcOptions,
    finish: Callable[[Candidates, Path], Benchmark],
    progress: Progress,
) -> Benchmark:
    """Make the pictures in a folder that survives an interruption, then the benchmark."""
    from tellapart._version import __version__
    from tellapart.benchmark.benchmark import load_benchmark, write_benchmark
    from tellapart.benchmark.image_files import with_copies
    from tellapart.files import resumable_folder
    from tellapart.makers.candidates import REFUSED, make_candidates
    from tellapart.seeds import digest

    wanted = [[one.key, one.caption, one.seed] for one in requests]
    job = digest("bivlc", __version__, maker.facts.fingerprint, wanted)
    with resumable_folder(out, job, overwrite=options.overwrite) as partial:
        made = make_candidates(maker, requests, partial, progress, _crew(options))
        benchmark = finish(made, partial)
        shutil.rmtree(partial / REFUSED)
        copied = with_copies(benchmark, partial) if options.copy_images else benchmark
        write_benchmark(copied, partial)
    return load_benchmark(out)


def _crew(options: BivlcOptions) -> MakerCrew | None:
    """Who makes the pictures; None where the command does it itself."""
    from tellapart.makers.candidates import MakerCrew
    from tellapart.work.launchers import crew_of

    crew = crew_of(options.workers, options.shard, options.gather)
    return MakerCrew(crew, options.maker) if crew else None


def _generated(
    source: Path | str | Corpus | Benchmark,
    out: Path,
    maker: ImageMaker,
    options: BivlcOptions,
    progress: Progress,
) -> Benchmark:
    """Make candidates for each negative caption; then a scorer or simulated people choose."""
    from tellapart.benchmark.benchmark import load_benchmark, make_benchmark
    from tellapart.mine.hard_images import by_kind

    origin = _hard_captions(source, out, options, progress)
    wanted = {
        hard: hard.requests(options.candidates, options.seed, origin.picture(hard.image))
        for hard in origin.captions
    }
    place = (
        out if not (options.auto or options.people) else out.with_name(f"{out.name}-{CANDIDATES}")
    )

    def finish(made: Candidates, partial: Path) -> Benchmark:
        items, images = [], {name: origin.image(name) for name in origin.used()}
        for hard in origin.captions:
            keys = [one.key for one in wanted[hard] if one.key in made.images]
            if keys:
                items.append(hard.item(keys, origin.name, options.seed))
        steps = {
            "captions": by_kind(hard.kind for hard in origin.captions),
            "with candidates": by_kind(item.kind for item in items),
        }
        card = _candidates_card(origin, maker, options, steps, made)
        return make_benchmark(card, origin.root, items, [*images.values(), *made.images.values()])

    if (place / "benchmark.json").is_file() and not options.overwrite and place != out:
        benchmark = load_benchmark(place)  # an earlier call got this far
    else:
        requests = [one for several in wanted.values() for one in several]
        benchmark = _made(maker, requests, place, options, finish, progress)
    if options.auto:
        return _chosen_by_model(benchmark, out, options, progress)
    if options.people:
        return _chosen_by_people(benchmark, out, options, progress)
    return benchmark


@dataclass(frozen=True)
class _HardSource:
    """Where negative captions come from: a benchmark of them, or the built-in world."""

    name: str
    root: Path
    captions: list[HardCaption]
    pictures: Benchmark | Corpus
    about: Mapping[str, Any]

    def used(self) -> list[str]:
        """The images of the captions, each once."""
        return list(dict.fromkeys(hard.image for hard in self.captions))

    def picture(self, image: str) -> Any:
        """One image, ready to be opened."""
        return self.pictures.picture(image)

    def image(self, image: str) -> Image:
        """One image by its id."""
        found: Image = self.pictures.picture(image).image
        return found


def _hard_captions(
    source: Path | str | Corpus | Benchmark, out: Path, options: BivlcOptions, progress: Progress
) -> _HardSource:
    from tellapart.benchmark.benchmark import Benchmark, load_benchmark
    from tellapart.files import check_free
    from tellapart.items import KINDS
    from tellapart.mine.hard_images import hard_captions, sample_captions, world_captions

    negatives: Benchmark | None = source if isinstance(source, Benchmark) else None
    if isinstance(source, str | Path) and (Path(source) / "benchmark.json").is_file():
        negatives = load_benchmark(Path(source))
    if negatives is not None:
        check_free(out, overwrite=options.overwrite)
        every = list(hard_captions(negatives, options.kinds))
        found = sample_captions(every, options.items, options.seed)
        if not found:
            raise BadInput(
                f"{negatives.name} has no negative captions"
                + " of these kinds" * bool(options.kinds),
                allowed="items with one image, a true caption and a false one",
                todo="make some with: tellapart build negatives CORPUS NEGATIVES",
            )
        about = {"benchmark": negatives.name, "benchmark_sha256": negatives.sha256}
        return _HardSource(negatives.name, negatives.root, found, negatives, about)
    corpus = source_corpus(source, out, options)  # type: ignore[arg-type]  # no benchmark
    kinds = options.checked_kinds(KINDS)
    found = list(world_captions(corpus, kinds, options.items, options.seed, progress))
    return _HardSource(corpus.name, corpus.root, found, corpus, dict(corpus.about))


def _candidates_card(
    origin: _HardSource,
    maker: ImageMaker,
    options: BivlcOptions,
    steps: Mapping[str, Mapping[str, int]],
    made: Candidates,
) -> Card:
    from tellapart.benchmark.benchmark import Card

    reasons: dict[str, int] = {}
    for reason in made.refused.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    return Card(
        name=options.name or "bivlc",
        about=f"candidates for the negative captions of {origin.name}, to choose among",
        measures=MEASURES,
        made={
            "by": "tellapart build bivlc",
            "from": origin.name,
            "corpus_about": dict(origin.about),
            "seed": options.seed,
            "candidates": options.candidates,
            "maker": maker.facts.to_json(),
            "steps": {name: dict(counts) for name, counts in steps.items()},
            "refused_pictures": reasons,
            "form": "alike: capital first, lower case, final mark",
        },
        citation=CITATION,
    )


def _chosen_by_model(
    candidates: Benchmark, out: Path, options: BivlcOptions, progress: Progress
) -> Benchmark:
    """A scorer chooses instead of people; the card says that the result is not verified."""
    from tellapart.benchmark.benchmark import make_benchmark
    from tellapart.benchmark.image_files import save_portable
    from tellapart.mine.hard_images import choose_by_scores
    from tellapart.models.names import load
    from tellapart.questions import Ask
    from tellapart.score.engine import Settings, run_model
    from tellapart.store.cache import default_folder

    settings = Settings(asks=frozenset({Ask.JUDGE}), seed=options.seed, cache=default_folder())
    run = run_model(load(options.auto), candidates, settings, progress)
    choice = choose_by_scores(candidates, run.scores, options.margin, options.seed)
    made = {
        **candidates.card.made,
        "steps": {
            **candidates.card.made["steps"],
            "chosen": choice.chosen,
            "not ambiguous": choice.clear,
        },
        "chosen_by": f"{run.card.model}, which must score the right caption higher by more than "
        f"{options.margin:g}; not checked by people",
    }
    about = f"BiVLC items from {candidates.card.made['from']}, chosen by a model, not verified"
    card = replace(candidates.card, about=about, made=made, verified="")
    chosen = make_benchmark(card, candidates.root, choice.items, candidates.images)
    return save_portable(chosen, out, overwrite=options.overwrite, copy_images=options.copy_images)


def _chosen_by_people(
    candidates: Benchmark, out: Path, options: BivlcOptions, progress: Progress
) -> Benchmark:
    """Simulated people do the paper's two stages in a study, over its real interface."""
    from tellapart.benchmark.benchmark import load_benchmark, make_benchmark
    from tellapart.benchmark.image_files import save_portable
    from tellapart.mine.hard_images import by_kind
    from tellapart.study.effort import Crowd
    from tellapart.verbs.study.create import CreateStudyOptions, create_study
    from tellapart.verbs.study.export import export_study
    from tellapart.verbs.study.simulate import simulate_study

    place = out.with_name(f"{out.name}-study")
    for old in (place, place / "results"):
        shutil.rmtree(old, ignore_errors=True)
    create_study(candidates, place, CreateStudyOptions(recipe="bivlc", seed=options.seed))
    crowd = Crowd(people=options.people, error=options.error, seed=options.seed)
    simulate_study(place, crowd, progress=progress)
    export_study(place, place / "results")
    verified = load_benchmark(place / "results" / "verified")
    funnel = _funnel(place / "results", candidates)
    made = {
        **verified.card.made,
        "steps": {
            **candidates.card.made["steps"],
            "chosen": funnel,
            "not ambiguous": by_kind(item.kind for item in verified.items),
        },
        "people": f"simulated: {options.people}, {100 * options.error:g}% of their answers wrong",
    }
    about = f"BiVLC items from {candidates.card.made['from']}, chosen by simulated people"
    card = replace(verified.card, about=about, made=made, name=options.name or "bivlc")
    card = replace(card, verified=f"simulated: {verified.card.verified}")
    final = make_benchmark(card, verified.root, verified.items, verified.images)
    return save_portable(final, out, overwrite=options.overwrite, copy_images=options.copy_images)


def _funnel(results: Path, candidates: Benchmark) -> dict[str, int]:
    """Items for which people chose a picture in the first stage, by kind."""
    import polars as pl

    from tellapart.mine.hard_images import by_kind

    table = pl.read_parquet(results / "judgements.parquet").filter(
        (pl.col("stage") == "filter") & (pl.col("role") == "item")
    )
    return by_kind(candidates.by_id[name].kind for name in table["item"].unique())


def steps_table(made: Mapping[str, Any]) -> list[str]:
    """How many items were left after each step, by kind."""
    from tellapart.text.table_text import aligned

    steps: Mapping[str, Mapping[str, int]] = made.get("steps", {})
    if not steps:
        return []
    kinds = sorted({kind for counts in steps.values() for kind in counts})
    rows = [("kind", *steps)]
    rows += [(kind, *(f"{c.get(kind, 0):,}" for c in steps.values())) for kind in kinds]
    rows.append(("all", *(f"{sum(c.values()):,}" for c in steps.values())))
    return [aligned(rows, {0})]


VERB = builder_verb(
    bivlc,
    "tellapart build bivlc captions.json my-bivlc --maker photo: --boxes instances.json",
    steps_table,
)
