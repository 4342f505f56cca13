"""Readers of what trainings use: features, regions, boxes, systems, checkpoints, files of pairs."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from PIL import Image
from soak.target import Read, Target
from tests.models.small_systems import SPACE, captioned, features

from soak import excerpts
from tellapart.corpus.corpus import Corpus, make_corpus
from tellapart.image_features.bottom_up import import_regions
from tellapart.image_features.store import FeatureStore, load_store
from tellapart.text.vocabulary import Vocabulary
from tellapart.verbs.systems.features import FeatureOptions
from tellapart.verbs.systems.features import features as compute

IMAGES = ("1", "2")


def training_targets(work: Path) -> list[Target]:
    """The readers by name; those of weights only where torch is installed."""
    work.mkdir(parents=True, exist_ok=True)
    store = features(captioned(work, count=3), work / "store")
    pictures = _pictures(work / "pictures")
    found = [_features(store), _regions(pictures), _boxes(pictures)]
    if find_spec("torch") is None:
        return found
    return [*found, _system(work), _checkpoint(work), _pairs()]


def files_of(folder: Path) -> dict[str, bytes]:
    """What a folder holds."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def _pictures(folder: Path) -> Corpus:
    """Two small pictures with a caption each."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, name in enumerate(IMAGES):
        Image.new("RGB", (12, 8), (90 * k, 20, 20)).save(folder / f"{name}.png")
    images = [{"id": name, "uri": f"{name}.png"} for name in IMAGES]
    captions = [{"id": f"c{name}", "image": name, "text": "A dog."} for name in IMAGES]
    return make_corpus("pictures", folder, images, captions)


def _features(store: FeatureStore) -> Target:
    def read(path: Path, _skip_bad: bool) -> object:
        found = load_store(path.parent)
        rows = [found.by_content[one] for one in found.by_content]
        return found.take(rows), str(found), found.to_json()

    return Target("features", files_of(store.folder), read)


def _packed(array: Any) -> str:
    return base64.b64encode(np.asarray(array, np.float32).tobytes()).decode()


def _regions(corpus: Corpus) -> Target:
    """Bottom-up features in each of their forms: a table, arrays in a folder, HDF5."""
    rows = np.arange(8, dtype=np.float32).reshape(2, 4)
    boxes = np.tile(np.array([0, 0, 6, 4], np.float32), (2, 1))
    table = [(name, "12", "8", "2", _packed(boxes), _packed(rows)) for name in IMAGES]
    files = {"a.tsv": "".join("\t".join(line) + "\n" for line in table).encode()}
    archive, array = io.BytesIO(), io.BytesIO()
    np.savez(archive, feat=rows)
    np.save(array, rows)
    files |= {"1.npz": archive.getvalue(), "2.npy": array.getvalue()}
    if find_spec("h5py") is not None:
        files |= _hdf5(rows)

    def read(path: Path, _skip_bad: bool) -> object:
        source = path.parent if path.suffix in (".npz", ".npy") else path
        return import_regions(corpus, source, path.parent.parent / "out", overwrite=True)

    return Target("regions", files, read)


def _hdf5(rows: Any) -> dict[str, bytes]:
    import h5py

    flat, grouped = io.BytesIO(), io.BytesIO()
    with h5py.File(flat, "w") as file:
        file["features"] = np.concatenate([rows, rows])
        file["image_id"] = [int(name) for name in IMAGES]
        file["pos_boxes"] = [[0, 2], [2, 4]]
    with h5py.File(grouped, "w") as file:
        for name in IMAGES:
            file.create_group(name)["features"] = rows
    return {"flat.h5": flat.getvalue(), "grouped.h5": grouped.getvalue()}


def _boxes(corpus: Corpus) -> Target:
    """Boxes as regions of pictures."""
    first, second = IMAGES
    instances = {
        "images": [{"id": int(name), "width": 12, "height": 8} for name in IMAGES],
        "annotations": [{"image_id": int(first), "bbox": [0, 0, 6, 4], "category_id": 1}],
        "categories": [{"id": 1, "name": "dog"}],
    }
    objects = {
        first: {"objects": [{"box": [0.0, 0.0, 0.5, 0.5], "category": "dog"}]},
        second: {"objects": [{"bbox_cxcywh_norm": [0.5, 0.5, 1, 1]}]},
    }

    def read(path: Path, skip_bad: bool) -> object:
        options = FeatureOptions(
            backbone="pixels", cells=2, boxes=path, skip_bad=skip_bad, overwrite=True
        )
        return compute(corpus, path.parent.parent / "out", options)

    files = {"instances.json": instances, "objects.json": objects}
    return Target("boxes", {name: json.dumps(one).encode() for name, one in files.items()}, read)


def _tiny_system() -> Any:
    import torch

    from tellapart.models.zoo.convnet_bow import BowConfig, ConvNetBow

    torch.manual_seed(0)
    vocabulary = Vocabulary(("a", "dog", "red"))
    return ConvNetBow(BowConfig(joint=4, words=4, hidden=4), vocabulary, SPACE)


def _system(work: Path) -> Target:
    """A trained system, opened and asked as a model is."""
    from dataclasses import asdict

    from tellapart.models.names import load
    from tellapart.models.trained import WEIGHTS, TrainedCard, write_card
    from tellapart.models.zoo.weights import save_tensors
    from tellapart.torch_tools import fingerprint

    made, folder = _tiny_system(), work / "system"
    folder.mkdir(exist_ok=True)
    save_tensors(folder / WEIGHTS, made.state_dict())
    card = TrainedCard(
        "convnet-bow", asdict(made.config), SPACE, made.vocabulary.sha256, fingerprint(made), {}
    )
    write_card(folder, card, made.vocabulary)

    def read(path: Path, _skip_bad: bool) -> object:
        model: Any = load(f"trained:{path.parent}?device=cpu")
        return model.embed_texts(["a red dog"])

    return Target("system", files_of(folder), read)


def _checkpoint(work: Path) -> Target:
    """The state of a training that was stopped."""
    import torch

    from tellapart.training.checkpoint import TrainingState, load_checkpoint, save_checkpoint

    def begun() -> tuple[Any, Any]:
        system = _tiny_system()
        return system, torch.optim.Adam(system.parameters(), lr=0.1)

    system, optimiser = begun()
    for parameter in system.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimiser.step()
    folder = work / "checkpoint"
    folder.mkdir(exist_ok=True)
    state = TrainingState(epoch=1, step=2, best=0.5, losses=[0.5], rows=[{"epoch": 1, "rsum": 2.0}])
    save_checkpoint(folder, state, system, optimiser)

    def read(path: Path, _skip_bad: bool) -> object:
        return load_checkpoint(path.parent, *begun())

    return Target("checkpoint", files_of(folder), read)


def _pairs() -> Target:
    """Pairs to train on, in the forms of other trainers."""
    rows = [{"filepath": "a.jpg", "title": "A dog.", "neg_title": "A cat.", "kind": "replace"}]
    shown = {"bytes": excerpts.PICTURE, "path": "a.jpg"}
    packed = [{"image": shown, "caption": "A dog.", "negative_caption": "A cat.",
               "negative_image": shown, "image_id": "1", "kind": "replace"}]  # fmt: skip
    members = {"0.jpg": excerpts.PICTURE, "0.txt": b"A dog.", "0.neg.txt": b"A cat.",
               "0.json": b'{"image_id": "1", "kind": "replace"}'}  # fmt: skip
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as out:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            out.addfile(member, io.BytesIO(data))
    files = {
        "a.csv": pl.DataFrame(rows).write_csv().encode(), "a.jsonl": excerpts.lines(rows),
        "a.parquet": excerpts.parquet(pl.DataFrame(packed)), "a.tar": archive.getvalue(),
        "pairs.json": json.dumps({"about": {"by": "tellapart"}}).encode(),
    }  # fmt: skip
    return Target("pairs", files, _read_pairs())


def _read_pairs() -> Read:
    from tellapart.training.tuning.pair_files import read_pair_files

    def read(path: Path, _skip_bad: bool) -> object:
        return read_pair_files(path.parent / "a.csv" if path.name == "pairs.json" else path)

    return read
