"""The verb `merge`: several benchmarks as one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.errors import BadInput
from tellapart.options import Help, Overwrite
from tellapart.verbs import Verb, benchmark_json, benchmark_text, open_benchmark

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.items import Image


def merge(
    benchmarks: Annotated[Sequence[Benchmark | Path | str], Help("Two or more benchmarks.")],
    out: Annotated[Path | str, Help("Folder to write to.", first=True)],
    *,
    name: Annotated[str, Help("Name of the new benchmark.")],
    overwrite: Overwrite = False,
) -> Benchmark:
    """Combine the items of several benchmarks.

    In Python: duplicate item ids are an error, and so are different pictures with the same id.
    """
    from tellapart.benchmark.benchmark import make_benchmark, save_benchmark
    from tellapart.benchmark.table import ItemTable

    parts = [open_benchmark(benchmark) for benchmark in benchmarks]
    if len(parts) < 2:
        raise BadInput(f"{len(parts)} benchmark cannot be merged", allowed="two or more")
    images: dict[str, Image] = {}
    for part in parts:
        for image in part.images.values():
            here = replace(image, uri=_from(parts[0].root, part.root, image.uri))
            _check_same(images.get(image.id), here)
            images.setdefault(image.id, here)
    measures = tuple(dict.fromkeys(m for part in parts for m in part.card.measures))
    verifiers = sorted({part.card.verified for part in parts})
    card = replace(
        parts[0].card,
        name=name,
        about="merged from " + ", ".join(part.name for part in parts),
        measures=measures,
        made={"by": "tellapart merge", "of": {part.name: part.sha256 for part in parts}},
        licence="; ".join(sorted({p.card.licence for p in parts if p.card.licence})),
        citation="; ".join(sorted({p.card.citation for p in parts if p.card.citation})),
        verified="; ".join(verifiers) if all(verifiers) else "",
    )
    items = ItemTable.joined(part.items for part in parts)
    merged = make_benchmark(card, parts[0].root, items, images.values())
    return save_benchmark(merged, Path(out), overwrite=overwrite)


def _from(root: Path, other: Path, uri: str) -> str:
    """A path relative to one folder, rewritten relative to another."""
    from tellapart.pictures import split_uri

    if "://" in uri:
        return uri
    path, fragment = split_uri(uri)
    moved = Path(os.path.relpath(other / path, root)).as_posix()
    return f"{moved}#{fragment}" if fragment else moved


def _check_same(known: Image | None, image: Image) -> None:
    if known is not None and known.sha256 and image.sha256 and known.sha256 != image.sha256:
        raise BadInput(
            f"two different pictures are called {image.id}",
            where=f"{known.uri}, {image.uri}",
            allowed="one picture per id",
            todo="rename the images of one corpus and build its benchmark again",
        )


VERB = Verb(
    merge,
    example="tellapart merge both my-bison my-mcic --name both",
    text=benchmark_text,
    json=benchmark_json,
)
