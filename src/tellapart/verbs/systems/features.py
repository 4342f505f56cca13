"""The verb `features`: vectors of images and regions, computed once for all systems."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput
from tellapart.options import Gather, Help, Overwrite, ShardShare, SkipBad, Workers
from tellapart.types import Progress, silent
from tellapart.verbs import OutFolder, Verb, open_corpus, skipped_notes

if TYPE_CHECKING:
    from tellapart.corpus.corpus import Corpus
    from tellapart.image_features.store import FeatureStore


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureOptions:
    """How features are computed."""

    backbone: Annotated[
        str, Help("Network that computes the features (see: tellapart list backbones).")
    ] = "efficientnet-lite0"
    cells: Annotated[int, Help("Regions are cells of a grid with this many cells per side.")] = 4
    boxes: Annotated[
        Path | None,
        Help("Use the boxes in this file (COCO instances) as regions of the images that have any."),
    ] = None
    from_file: Annotated[
        Path | None,
        Help(
            "Read regions from a bottom-up attention file (.tsv, .h5, or a folder of .npz) "
            "instead of computing them.",
            flag="--from",
        ),
    ] = None
    images: Annotated[Path | None, Help("Folder with the pictures.")] = None
    workers: Workers = ""
    shard: ShardShare = ""
    gather: Gather = False
    overwrite: Overwrite = False
    skip_bad: SkipBad = False


def features(
    corpus: Annotated[Corpus | Path | str, Help("A corpus: a folder, COCO JSON, CSV, ...")],
    out: OutFolder,
    options: FeatureOptions = FeatureOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> FeatureStore:
    """Compute feature vectors of images and their regions, to train systems on."""
    from tellapart.corpus.reader import ReadOptions
    from tellapart.image_features.backbones import backbone_of
    from tellapart.image_features.bottom_up import import_regions
    from tellapart.image_features.boxes import read_boxes
    from tellapart.image_features.extract import FeaturePlan, extract
    from tellapart.work.launchers import crew_of

    crew = crew_of(options.workers, options.shard, options.gather)
    read = open_corpus(corpus, ReadOptions(images=options.images, skip_bad=options.skip_bad))
    if options.from_file is not None:
        if crew is not None:
            raise BadInput("--from reads a file in a single process",
                           allowed="--workers, --shard and --gather without --from")  # fmt: skip
        return import_regions(
            read,
            options.from_file,
            Path(out),
            overwrite=options.overwrite,
            progress=progress,
        )
    boxes = {} if options.boxes is None else read_boxes(options.boxes)
    return extract(
        read,
        Path(out),
        backbone_of(options.backbone),
        FeaturePlan(options.cells, boxes),
        skip_bad=options.skip_bad,
        overwrite=options.overwrite,
        crew=crew,
        progress=progress,
    )


VERB = Verb(
    features,
    example="tellapart features my-corpus my-features --backbone efficientnet-lite0",
    text=lambda store: f"{store}  ->  {store.folder}",
    notes=lambda store: skipped_notes(store.card.skipped),
    resumes=True,
)
