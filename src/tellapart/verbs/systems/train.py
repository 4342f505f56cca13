"""The verb `train`: a system learns from captions or from items, and is a model like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    from tellapart.training.data import CaptionedImages
    from tellapart.training.trainer import TrainedSystem, TrainingOrder

Sources = Sequence["Benchmark | Corpus | Path | str"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """How a system is trained."""

    recipe: Annotated[
        str, Help("Settings by name: paper (as published), small (two cores), default.")
    ] = "paper"
    changes: Annotated[
        tuple[str, ...],
        Help("Change a setting: --set rate=1e-4; may be repeated.", flag="--set", repeat=True),
    ] = ()
    features: Annotated[
        tuple[Path | str, ...],
        Help(
            "Features of each corpus in turn, or of all (default: computed, kept in the cache).",
            repeat=True,
        ),
    ] = ()
    backbone: Annotated[str, Help("What computes features where none are given.")] = (
        "efficientnet-lite0"
    )
    held_out: Annotated[
        float, Help("Share of the images to validate on where --validation names none.")
    ] = 0.1
    seed: Seed = 0
    task: Annotated[str, Help("How to train, where not as the system itself says.")] = ""
    start: Annotated[Path | None, Help("Start from this trained system's weights.")] = None
    overwrite: Overwrite = False


def train(
    system: Annotated[str, Help("A system; see: tellapart list systems")],
    on: Annotated[
        Benchmark | Corpus | Path | str | Sources,
        Help(
            "A corpus to train on, or a benchmark for systems that learn from items; may be "
            "repeated.",
            flag="--on",
            repeat=True,
        ),
    ],
    out: Annotated[Path | str, Help("Folder to write the trained system to.", flag="--out")],
    *,
    validation: Annotated[
        Sources,
        Help(
            "A corpus (or benchmark) to choose the best weights by; may be repeated.", repeat=True
        ),
    ] = (),
    never: Annotated[
        Sequence[Benchmark | Path | str],
        Help("A benchmark whose images must not be trained on; may be repeated.", repeat=True),
    ] = (),
    options: TrainOptions = TrainOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> TrainedSystem:
    """Train a system on a corpus: what comes out is the model trained:OUT.

    In Python: `on`, `validation` and `never` take objects as well as paths.
    """
    need("torch", "train", "training")
    from tellapart import registry
    from tellapart.files import check_free
    from tellapart.training.splits import hold_out, images_of, refuse, test_images
    from tellapart.training.trainer import TrainingOrder, train_system

    check_free(Path(out), overwrite=options.overwrite)
    order = TrainingOrder(
        system, options.recipe, tuple(options.changes), options.seed, options.task, options.start
    )
    sources = [on] if isinstance(on, str | Path) or not isinstance(on, Sequence) else list(on)
    data, others = _gathered(order, sources, list(validation), options, progress)
    if others is None:
        kept, apart = hold_out(data, options.held_out, options.seed)
        data, held = data.part(kept), data.part(apart)
    else:
        held = others
    notes = refuse(data, images_of(held), "the validation set")
    for benchmark in map(open_benchmark, never):
        tests = test_images([benchmark])
        notes += refuse(data, tests, benchmark.name)
        refuse(held, tests, benchmark.name)
        registry.tasks.get(order.task_name).refuse(data, benchmark)
    done = train_system(
        order, data, held, Path(out), overwrite=options.overwrite, progress=progress
    )
    return type(done)(done.folder, done.card, notes)


def _gathered(
    order: TrainingOrder,
    on: Sequence[Any],
    validation: Sequence[Any],
    options: TrainOptions,
    progress: Progress,
) -> tuple[CaptionedImages, CaptionedImages | None]:
    """What is trained on and what it is validated on, if that is named; corpora or benchmarks."""
    from tellapart import registry
    from tellapart.training.data import gather
    from tellapart.training.items_data import corpus_of, gather_items

    sources = [*on, *validation]
    stores: list[FeatureStore]
    read: Callable[[Any, Any], CaptionedImages]
    if registry.tasks.get(order.task_name).items:
        opened: list[Any] = [_items(one, order.system) for one in sources]
        corpora, read = list(map(corpus_of, opened)), gather_items
    else:
        opened = corpora = [open_corpus(one) for one in sources]
        read = gather
    stores = _stores(corpora, options, progress)
    first = stores if len(stores) == 1 else stores[: len(on)]
    rest = stores if len(stores) == 1 else stores[len(on) :]
    data = read(opened[: len(on)], first)
    return data, read(opened[len(on) :], rest) if validation else None


def _items(source: Any, system: str) -> Benchmark:
    """A benchmark to learn from; raises where it is a corpus."""
    from tellapart.corpus.corpus import Corpus

    if isinstance(source, Corpus) or (Path(str(source)) / "corpus.json").is_file():
        raise BadInput(
            f"{system} learns from items, true captions beside false ones, and this is a corpus",
            where=source.name if isinstance(source, Corpus) else str(source),
            allowed="a benchmark of training images",
            todo="build one, such as: tellapart build foil CORPUS OUT --part train",
        )
    return open_benchmark(source)


def _stores(corpora: list[Corpus], options: TrainOptions, progress: Progress) -> list[FeatureStore]:
    """The features of the corpora: those named, or computed and kept in the cache."""
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
    text=lambda done: f"{done}  ->  trained:{done.folder}",
    notes=lambda done: done.notes[:20],
    resumes=True,
)
