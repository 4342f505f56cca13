"""The verb `train`: a system is trained on a corpus, and is then a model like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import need
from tellapart.options import Help, Overwrite, Seed
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, open_benchmark, open_corpus

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.image_features.store import FeatureStore
    from tellapart.training.trainer import TrainedSystem

CorpusSources = Sequence["Corpus | Path | str"]


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
        Corpus | Path | str | CorpusSources,
        Help("A corpus to train on; may be repeated.", flag="--on", repeat=True),
    ],
    out: Annotated[Path | str, Help("Folder to write the trained system to.", flag="--out")],
    *,
    validation: Annotated[
        CorpusSources, Help("A corpus to choose the best weights by; may be repeated.", repeat=True)
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
    from tellapart.files import check_free
    from tellapart.training.data import gather
    from tellapart.training.splits import hold_out, images_of, refuse, test_images
    from tellapart.training.trainer import TrainingOrder, train_system

    check_free(Path(out), overwrite=options.overwrite)
    sources = [on] if isinstance(on, str | Path) or not isinstance(on, Sequence) else on
    corpora = [open_corpus(one) for one in sources]
    others = [open_corpus(one) for one in validation]
    stores = _stores([*corpora, *others], options, progress)
    own = stores if len(stores) == 1 else stores[: len(corpora)]
    data = gather(corpora, own)
    if others:
        held = gather(others, stores if len(stores) == 1 else stores[len(corpora) :])
    else:
        kept, apart = hold_out(data, options.held_out, options.seed)
        data, held = data.part(kept), data.part(apart)
    notes = refuse(data, images_of(held), "the validation set")
    for benchmark in map(open_benchmark, never):
        tests = test_images([benchmark])
        notes += refuse(data, tests, benchmark.name)
        refuse(held, tests, benchmark.name)
    order = TrainingOrder(
        system, options.recipe, tuple(options.changes), options.seed, options.task, options.start
    )
    done = train_system(
        order, data, held, Path(out), overwrite=options.overwrite, progress=progress
    )
    return type(done)(done.folder, done.card, notes)


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
