"""The verb `train`: a system learns from captions or items and becomes a model like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput, need
from tellapart.options import Help, Overwrite, Seed
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, open_benchmark, open_corpus

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.image_features.store import FeatureStore
    from tellapart.measures.zero_shot import ClassFolder
    from tellapart.pictures import Picture
    from tellapart.training.data import CaptionedImages
    from tellapart.training.trainer import TrainedSystem, TrainingOrder
    from tellapart.training.tuning.pairs import TrainingPairs
    from tellapart.training.tuning.tuner import TunedModel

Sources = Sequence["Benchmark | Corpus | Path | str"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """How a system is trained."""

    recipe: Annotated[
        str,
        Help(
            "Named settings: paper (as published), small (two cores), default; for clip: coco, "
            "trohn-text, trohn-img, negclip, lora, scratch (default: paper; for clip coco)."
        ),
    ] = ""
    begin: Annotated[
        str,
        Help(
            "clip: the model to fine-tune: open_clip:ARCH/TAG, hf:ORG/NAME, trained:FOLDER, or "
            "towers (small, from scratch).",
            flag="--from",
        ),
    ] = ""
    changes: Annotated[
        tuple[str, ...],
        Help("Change a setting: --set rate=1e-4; may be repeated.", flag="--set", repeat=True),
    ] = ()
    features: Annotated[
        tuple[Path | str, ...],
        Help(
            "Features of each corpus in turn, or one store for all (default: computed and cached).",
            repeat=True,
        ),
    ] = ()
    backbone: Annotated[str, Help("Network that computes features if none are given.")] = (
        "efficientnet-lite0"
    )
    held_out: Annotated[
        float | None,
        Help(
            "Share of the images to validate on if --validation is not given (default: 0.1; "
            "for clip 0.2)."
        ),
    ] = None
    seed: Seed = 0
    task: Annotated[str, Help("Training task, if not the system's own.")] = ""
    start: Annotated[Path | None, Help("Start from this trained system's weights.")] = None
    overwrite: Overwrite = False


def train(
    system: Annotated[
        str, Help("A system (see: tellapart list systems), or clip: any dual encoder.")
    ],
    on: Annotated[
        Any,
        Help(
            "A corpus to train on, or a benchmark for systems that learn from items or negatives; "
            "for clip also a table, shards or Parquet; may be repeated.",
            flag="--on",
            repeat=True,
        ),
    ],
    out: Annotated[Path | str, Help("Folder to write the trained system to.", flag="--out")],
    *,
    validation: Annotated[
        Sources,
        Help(
            "A corpus (or benchmark) for choosing the best weights; may be repeated.", repeat=True
        ),
    ] = (),
    never: Annotated[
        Sequence[Benchmark | Path | str],
        Help("A benchmark whose images must not be trained on; may be repeated.", repeat=True),
    ] = (),
    watch: Annotated[
        Sequence[Benchmark | Path | str],
        Help("clip: a benchmark to evaluate on during training; may be repeated.", repeat=True),
    ] = (),
    cost: Annotated[
        Sequence[Any],
        Help(
            "clip: a benchmark, corpus or folder of classes to measure on before and after, in "
            "addition to --watch; may be repeated.",
            repeat=True,
        ),
    ] = (),
    options: TrainOptions = TrainOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> TrainedSystem | TunedModel:
    """Train a system on a corpus; the result is the model trained:OUT.

    In Python: `on`, `validation`, `never`, `watch` and `cost` take objects as well as paths.
    """
    need("torch", "train", "training")
    from tellapart.files import check_free

    check_free(Path(out), overwrite=options.overwrite)
    sources = [on] if isinstance(on, str | Path) or not isinstance(on, Sequence) else on
    others = (tuple(one) for one in (validation, never, watch, cost))
    given = TrainSources(tuple(sources), *others)
    _check_options(system, given, options)
    if system == "clip":
        return _tuned(given, Path(out), options, progress)
    return _trained(system, given, Path(out), options, progress)


@dataclass(frozen=True, slots=True)
class TrainSources:
    """Sources to train on, validate on, keep out, watch during training, and measure at the end."""

    on: tuple[Any, ...]
    validation: tuple[Any, ...]
    never: tuple[Any, ...]
    watch: tuple[Any, ...]
    cost: tuple[Any, ...]


def _check_options(system: str, given: TrainSources, options: TrainOptions) -> None:
    """Raise on options that would have no effect."""
    usual = TrainOptions()
    if system == "clip":
        names = ("task", "features", "backbone", "start")
        wrong = [f"--{one}" for one in names if getattr(options, one) != getattr(usual, one)]
    else:
        values = {"--from": options.begin, "--watch": given.watch, "--cost": given.cost}
        wrong = [flag for flag, value in values.items() if value]
    if wrong:
        raise BadInput(
            f"{', '.join(sorted(wrong))} cannot be used to train {system}",
            allowed="--from, --watch and --cost for clip; --task, --features, --backbone and "
            "--start for systems on features",
        )


def _tuned(given: TrainSources, out: Path, options: TrainOptions, progress: Progress) -> TunedModel:
    """Fine-tune a dual encoder on pairs."""
    from tellapart.files import write_json
    from tellapart.training.processes import is_first
    from tellapart.training.splits import known_images, refuse
    from tellapart.training.tuning.pairs import joined_pairs, open_pairs, split_pairs
    from tellapart.training.tuning.tuner import TuningOrder, tune, tuning_recipe
    from tellapart.verbs.systems.cost import cost as cost_of
    from tellapart.verbs.systems.cost import open_test

    if not options.begin:
        raise BadInput(
            "clip needs a model to fine-tune",
            allowed="--from open_clip:ARCH/TAG, hf:ORG/NAME, trained:FOLDER or towers",
        )
    watched = tuple(map(open_benchmark, given.watch))
    recipe = options.recipe or "coco"
    order = TuningOrder(options.begin, recipe, tuple(options.changes), options.seed, watched)
    tuning_recipe(order)  # report mistakes before reading any data
    if given.cost and _is_new(options):
        raise BadInput(
            "towers start without training, so there is nothing to compare with",
            allowed="--cost with a model that was trained before",
            todo="leave out --cost, and use --watch or evaluate",
        )
    measured = [*watched, *map(open_test, given.cost)]
    data = joined_pairs([open_pairs(one) for one in given.on])
    if given.validation:
        held = joined_pairs([open_pairs(one) for one in given.validation])
    else:
        share = 0.2 if options.held_out is None else options.held_out
        data, held = split_pairs(data, share, options.seed)
    notes: tuple[str, ...] = ()
    tests = [*map(open_benchmark, given.never), *measured]
    if tests or given.validation:
        own, chosen_by = (
            known_images(part.pictures[one] for one in part.images) for part in (data, held)
        )
        notes = refuse(own, chosen_by, "the validation set")
        for one in tests:
            images = known_images(_pictures(one))
            notes += refuse(own, images, one.name)
            refuse(chosen_by, images, one.name)
    done = tune(order, data, held, out, overwrite=options.overwrite, progress=progress)
    if not measured or not is_first() or _is_new(options):
        return replace(done, notes=notes)
    found = cost_of(options.begin, f"trained:{out}", measured, progress=progress)
    write_json(out / "cost.json", found.to_json())
    return replace(done, notes=notes, cost=found)


def _is_new(options: TrainOptions) -> bool:
    """Whether the model starts with random weights, so that no figure before training counts."""
    return options.begin.partition("?")[0] == "towers"


def _pictures(test: Benchmark | Corpus | ClassFolder) -> list[Picture]:
    """All pictures of a test."""
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus

    if isinstance(test, Benchmark):
        return [test.picture(one) for one in test.images]
    if isinstance(test, Corpus):
        return [test.picture(one) for one in test.images["id"]]
    return list(test.pictures)


def _trained(
    system: str, given: TrainSources, out: Path, options: TrainOptions, progress: Progress
) -> TrainedSystem:
    """Train a system on features."""
    from tellapart import registry
    from tellapart.training.items_data import seen_as_decoys
    from tellapart.training.splits import hold_out, images_of, refuse, test_images
    from tellapart.training.trainer import TrainingOrder, train_system

    recipe = options.recipe or "paper"
    order = TrainingOrder(
        system, recipe, tuple(options.changes), options.seed, options.task, options.start
    )
    data, others = _gathered(order, given.on, given.validation, options, progress)
    if others is None:
        share = 0.1 if options.held_out is None else options.held_out
        kept, apart = hold_out(data, share, options.seed)
        data, held = data.part(kept), data.part(apart)
    else:
        held = others
    own, chosen_by = images_of(data), images_of(held)
    notes = seen_as_decoys(data, held) + refuse(own, chosen_by, "the validation set")
    for benchmark in map(open_benchmark, given.never):
        tests = test_images([benchmark])
        notes += refuse(own, tests, benchmark.name)
        refuse(chosen_by, tests, benchmark.name)
        registry.tasks.get(order.task_name).refuse(data, benchmark)
    done = train_system(order, data, held, out, overwrite=options.overwrite, progress=progress)
    return type(done)(done.folder, done.card, notes)


def _paired(sources: Sequence[Any]) -> TrainingPairs | None:
    """Benchmarks as pairs with their negatives; None if corpora are given."""
    from tellapart.benchmark.benchmark import Benchmark, is_benchmark
    from tellapart.training.tuning.pairs import TrainingPairs, joined_pairs, open_pairs

    def has(one: Any) -> bool:
        if isinstance(one, str | Path):
            return is_benchmark(one)
        return isinstance(one, Benchmark | TrainingPairs)

    if not any(map(has, sources)):
        return None
    return joined_pairs([open_pairs(one) for one in sources])


def _given_stores(options: TrainOptions) -> list[FeatureStore]:
    """The feature stores that pairs with negatives need."""
    from tellapart.image_features.store import load_store

    if not options.features:
        raise BadInput(
            "training on a benchmark needs the features of its images",
            allowed="--features STORE, once or several times",
            todo="compute them: tellapart features CORPUS STORE",
        )
    return [load_store(one) for one in options.features]


def _holding(corpus: Corpus, stores: Sequence[FeatureStore]) -> FeatureStore:
    """The store with most of a corpus's images."""
    images = list(corpus.texts_by_image)
    return max(stores, key=lambda one: sum(image in one.by_id for image in images))


def _gathered(
    order: TrainingOrder,
    on: Sequence[Any],
    validation: Sequence[Any],
    options: TrainOptions,
    progress: Progress,
) -> tuple[CaptionedImages, CaptionedImages | None]:
    """The training data, and the validation data if named, from corpora or benchmarks."""
    from tellapart import registry
    from tellapart.benchmark.captions import corpus_of
    from tellapart.training.data import gather, gather_pairs
    from tellapart.training.items_data import gather_items

    sources = [*on, *validation]
    stores: list[FeatureStore]
    read: Callable[[Any, Any], CaptionedImages]
    if registry.tasks.get(order.task_name).items:
        opened: list[Any] = [_items(one, order.system) for one in sources]
        corpora, read = list(map(corpus_of, opened)), gather_items
    elif (paired := _paired(on)) is not None:
        held = [open_corpus(one) for one in validation]
        given = _given_stores(options)
        found = gather_pairs(paired, given)
        return found, gather(held, [_holding(one, given) for one in held]) if held else None
    else:
        opened = corpora = [open_corpus(one) for one in sources]
        read = gather
    stores = _stores(corpora, options, progress)
    first = stores if len(stores) == 1 else stores[: len(on)]
    rest = stores if len(stores) == 1 else stores[len(on) :]
    data = read(opened[: len(on)], first)
    return data, read(opened[len(on) :], rest) if validation else None


def _items(source: Any, system: str) -> Benchmark:
    """A benchmark to learn from; raises if it is a corpus."""
    from tellapart.corpus.corpus import Corpus

    if isinstance(source, Corpus) or (Path(str(source)) / "corpus.json").is_file():
        raise BadInput(
            f"{system} learns from items (true captions beside false ones), but this is a corpus",
            where=source.name if isinstance(source, Corpus) else str(source),
            allowed="a benchmark of training images",
            todo="build one: tellapart build mcic CORPUS OUT --options paper, or tellapart build "
            "foil CORPUS OUT --unfiltered --part train",
        )
    return open_benchmark(source)


def _stores(corpora: list[Corpus], options: TrainOptions, progress: Progress) -> list[FeatureStore]:
    """The corpora's features: those given, or computed and cached."""
    from tellapart import seeds
    from tellapart.image_features.backbones import backbone_of
    from tellapart.image_features.extract import extract
    from tellapart.image_features.store import load_store
    from tellapart.store.cache import default_folder
    from tellapart.training.processes import is_first, wait_for_all

    if options.features:
        return [load_store(one) for one in options.features]
    backbone = backbone_of(options.backbone)
    stores = []
    for corpus in corpora:
        rows = corpus.images.select("id", "uri", "sha256").rows()
        key = seeds.digest(backbone.facts.name, backbone.facts.weights, str(corpus.root), rows)
        folder = default_folder() / "features" / key[:32]
        if not (folder / "features.json").is_file() and is_first():
            extract(corpus, folder, backbone, progress=progress)
        wait_for_all()
        stores.append(load_store(folder))
    return stores


VERB = Verb(
    train,
    example="tellapart train convnet-bow --on my-corpus --recipe small --out my-system",
    notes=lambda done: done.notes[:20],
    resumes=True,
)
