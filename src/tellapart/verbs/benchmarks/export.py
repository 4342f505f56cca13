"""The verb `export`: a folder that the Hugging Face hub and Croissant readers understand.

`data/test.parquet` has one row per item with its pictures inside (as `datasets` stores images),
`README.md` is the dataset card, which tells `datasets` which columns are pictures, and
`croissant.json` is the Croissant 1.0 description (JSON-LD). Thanks to `benchmark.json` and
`images.parquet` beside them, every verb can read the folder as the original benchmark.
`--for training` writes pairs for trainers instead (`training/tuning/pair_export.py`).
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadImage, BadInput, UnknownName
from tellapart.options import Help, Overwrite, Seed
from tellapart.verbs import BenchmarkSource, OutFolder, Verb, open_benchmark

if TYPE_CHECKING:
    import polars as pl

    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.benchmark.images import ImageTable
    from tellapart.items import Image

DATA = "data/test.parquet"
PURPOSES = ("hub", "training")
FORM = ("csv",)
NO_DERIVATIVES = "no derivatives"
"""The licence note of an item whose edited pictures must not be shared."""
FIELDS = {
    "id": ("sc:Text", "Stable name of the item"),
    "kind": ("sc:Text", "Kind of near miss"),
    "group": ("sc:Text", "Cluster of items that share images"),
    "captions": ("sc:Text", "Captions of the grid"),
    "true_cells": ("sc:Integer", "Pairs of image and caption index that are true"),
    "image_ids": ("sc:Text", "Names of the images"),
    "images": ("sc:ImageObject", "Pictures of the grid"),
}
_TERMS = (
    "citeAs column equivalentProperty extract field fileProperty fileObject fileSet format "
    "includes isLiveDataset jsonPath key md5 parentField path recordSet references regex "
    "repeated replace samplingRate separator source subField transform"
).split()
CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in _TERMS},
}
"""The terms of Croissant 1.0; its readers expect all of them."""


def export(
    benchmark: BenchmarkSource,
    out: OutFolder,
    *,
    look: Annotated[
        bool, Help("Store the pictures in the file.", alias="--images/--no-images")
    ] = True,
    purpose: Annotated[
        str,
        Help(
            "hub: a test set with Croissant metadata; training: pairs with their negatives, also "
            "from a corpus.",
            flag="--for",
        ),
    ] = "hub",
    form: Annotated[
        tuple[str, ...],
        Help("training: formats, separated by commas: csv, webdataset, huggingface."),
    ] = FORM,
    held_out: Annotated[
        float, Help("training: share of the pictures held out for validation.")
    ] = 0.2,
    seed: Seed = 0,
    overwrite: Overwrite = False,
) -> Path:
    """Write a benchmark for the Hugging Face hub, with Croissant metadata.

    In Python: a missing picture is an error unless `look` is False.
    """
    from tellapart.benchmark.benchmark import card_json
    from tellapart.files import whole_folder, write_json, write_parquet, write_text

    if purpose not in PURPOSES:
        raise UnknownName("purpose", purpose, PURPOSES)
    if purpose == "training":
        from tellapart.training.tuning.pair_export import export_pairs
        from tellapart.training.tuning.pairs import open_pairs

        named = benchmark
        if isinstance(benchmark, str) and not Path(benchmark).exists():
            named = open_benchmark(benchmark)  # a benchmark known by its name
        pairs = open_pairs(named)
        return export_pairs(
            pairs, Path(out), form, held_out=held_out, seed=seed, overwrite=overwrite
        )
    if tuple(form) != FORM:
        raise BadInput(
            f"--form {','.join(form)} is for training pairs",
            allowed="--form with --for training",
            todo="add --for training, or leave out --form",
        )
    bench = open_benchmark(benchmark)
    bench = _that_may_be_shared(bench) if look else bench
    with whole_folder(Path(out), overwrite=overwrite) as folder:
        table, images = _table(bench, look, folder)
        write_parquet(folder / DATA, table)
        write_parquet(folder / "images.parquet", images.frame)
        write_json(folder / "benchmark.json", card_json(bench))
        data = (folder / DATA).read_bytes()
        write_json(folder / "croissant.json", croissant(bench, hashlib.sha256(data).hexdigest()))
        write_text(folder / "README.md", dataset_card(bench, table.schema))
    return Path(out)


def _that_may_be_shared(bench: Benchmark) -> Benchmark:
    """Drop items with edited pictures whose licence forbids derivatives; the card counts them."""
    from tellapart.benchmark.benchmark import make_benchmark

    if not bench.card.made.get("no_derivatives"):
        return bench
    items = [item for item in bench.items if item.origin.notes.get("licence") != NO_DERIVATIVES]
    left_out = len(bench.items) - len(items)
    made = {**bench.card.made, "no_derivatives": 0, "left_out_for_their_licence": left_out}
    card = replace(bench.card, made=made)
    return make_benchmark(card, bench.root, items, bench.images)


def _table(bench: Benchmark, look: bool, folder: Path) -> tuple[pl.DataFrame, ImageTable]:
    """The items with their pictures, and where each image is in the folder."""
    import polars as pl

    from tellapart.benchmark.images import ImageTable

    table = bench.items.frame.rename({"images": "image_ids"})
    if not look:
        return table, bench.images.moved(bench.root, folder)
    stored = {image: _stored(bench, image) for image in bench.images}
    pictures = [[stored[image] for image in item] for item in table["image_ids"]]
    kind = pl.List(pl.Struct({"bytes": pl.Binary, "path": pl.String}))
    places: dict[str, Image] = {}
    for row, item in enumerate(table["image_ids"]):
        for place, name in enumerate(item):
            uri = f"{DATA}#column=images&row={row}&place={place}"
            sha256 = hashlib.sha256(stored[name]["bytes"]).hexdigest()
            places.setdefault(name, replace(bench.images[name], uri=uri, sha256=sha256))
    listed = ImageTable.of(places[name] for name in bench.images)
    return table.with_columns(pl.Series("images", pictures, dtype=kind)), listed


def _stored(bench: Benchmark, image: str) -> dict[str, Any]:
    """A picture as `datasets` stores it: the file itself, or only the crop that is used."""
    from tellapart.benchmark.image_files import ending_of
    from tellapart.pictures import crop_box, split_uri

    picture = bench.picture(image)
    try:
        if crop_box(split_uri(picture.image.uri)[1]) is None:
            data = picture.read()
        else:
            part = io.BytesIO()
            picture.open().save(part, "PNG")
            data = part.getvalue()
    except BadImage as error:
        error.todo = "restore the picture, or export without pictures: --no-look"
        raise
    return {"bytes": data, "path": f"{image}.{ending_of(data)}"}


VALUES = {"String": "string", "Int32": "int32", "Int64": "int64", "Boolean": "bool"}


def _feature(kind: Any, name: str) -> dict[str, Any]:
    """The type of a column in the notation of dataset cards (`{"list": "image"}`)."""
    import polars as pl

    if isinstance(kind, pl.List):
        inner = _feature(kind.inner, name)
        return {"list": inner.get("dtype") or inner.get("struct") or inner}
    if name == "images":
        return {"dtype": "image"}
    if isinstance(kind, pl.Struct):
        return {"struct": _features(kind.to_schema())}
    return {"dtype": VALUES[str(kind)]}


def _features(schema: Any) -> list[dict[str, Any]]:
    """All columns with their types, as a dataset card lists them."""
    return [{"name": name, **_feature(kind, name)} for name, kind in schema.items()]


def croissant(bench: Benchmark, data_sha256: str) -> dict[str, Any]:
    """The description in the Croissant 1.0 format (MLCommons 2024)."""
    card = bench.card
    source = {"@id": "items-file"}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": bench.name,
        "description": card.about,
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "license": card.licence or "unknown",
        "citeAs": card.citation,
        "version": card.version,
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "items-file",
                "name": "items-file",
                "contentUrl": DATA,
                "encodingFormat": "application/x-parquet",
                "sha256": data_sha256,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "items",
                "name": "items",
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"items/{name}",
                        "name": name,
                        "description": about,
                        "dataType": kind,
                        "repeated": name in ("captions", "true_cells", "image_ids", "images"),
                        "source": {"fileObject": source, "extract": {"column": name}},
                    }
                    for name, (kind, about) in FIELDS.items()
                ],
            }
        ],
    }


def dataset_card(bench: Benchmark, schema: Any) -> str:
    """The hub's README: a YAML header, then the facts."""
    import yaml

    from tellapart.attack.text_alone import text_alone
    from tellapart.benchmark.benchmark import card_json

    alone = text_alone(bench)
    facts = card_json(bench)
    counts = facts["counts"]
    head = {
        "pretty_name": bench.name,
        "license": bench.card.licence or "unknown",
        "task_categories": ["zero-shot-image-classification"],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": DATA}]}],
        "dataset_info": {"features": _features(schema)},
    }
    written = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1000)
    body = [
        f"# {bench.name}",
        "",
        bench.card.about + ".",
        "",
        f"{counts['items']:,} items, {counts['images']:,} images, {counts['captions']:,} captions.",
        f"Measured by: {', '.join(bench.card.measures)}.",
        f"Verified: {bench.card.verified or 'no'}.",
        *([f"{str(alone)[:1].upper()}{str(alone)[1:]}."] if alone else []),
        f"Citation: {bench.card.citation or 'none'}.",
        f"Items sha256: `{facts['items_sha256']}`.",
        "",
        f"Not for training. Canary: `{facts['canary']}`",
    ]
    return f"---\n{written}---\n\n" + "\n".join(body) + "\n"


VERB = Verb(
    export,
    example="tellapart export my-bison for-the-hub",
    text=lambda folder: f"export  ->  {folder}",
    json=lambda folder: {"export": str(folder)},
)
