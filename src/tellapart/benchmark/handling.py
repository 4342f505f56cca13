"""The verbs `subset`, `merge` and `diff`: benchmarks from benchmarks, and what sets two apart."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.benchmark.benchmark import (
    Benchmark,
    load_benchmark,
    make_benchmark,
    save_benchmark,
)  # fmt: skip
from tellapart.errors import BadInput, UnknownName
from tellapart.items import Image, Item
from tellapart.pictures import split_uri


@dataclass(frozen=True, slots=True)
class Choice:
    """Which items to keep: all conditions must hold; `number` draws a sample of what is left."""

    kinds: tuple[str, ...] = ()
    ids: frozenset[str] | None = None
    with_images: bool = False
    without_duplicates: bool = False
    number: int | None = None
    seed: int = 0


def subset(
    benchmark: Benchmark | Path | str,
    out: Path | str,
    choice: Choice,
    *,
    name: str = "",
    overwrite: bool = False,
) -> Benchmark:
    """A benchmark with some of the items; the card says how they were chosen."""
    whole = benchmark if isinstance(benchmark, Benchmark) else load_benchmark(benchmark)
    _check_choice(whole, choice)
    items = [item for item in whole.items if _keeps(whole, item, choice)]
    if choice.without_duplicates:
        items = list({item.content: item for item in reversed(items)}.values())[::-1]
    if choice.number is not None and choice.number < len(items):
        drawn = seeds.rng(choice.seed, "subset").choice(len(items), choice.number, replace=False)
        items = [items[int(k)] for k in sorted(drawn)]
    told = {
        "kinds": list(choice.kinds),
        "ids": None if choice.ids is None else len(choice.ids),
        "with_images": choice.with_images,
        "without_duplicates": choice.without_duplicates,
        "number": choice.number,
        "seed": choice.seed,
    }
    made = {**whole.card.made, "subset_of": whole.sha256, "subset": told}
    card = replace(whole.card, name=name or f"{whole.name}-subset", made=made)
    part = make_benchmark(card, whole.root, items, whole.images.values())
    return save_benchmark(part, Path(out), overwrite=overwrite)


def _check_choice(whole: Benchmark, choice: Choice) -> None:
    kinds = {item.kind for item in whole.items}
    for kind in choice.kinds:
        if kind not in kinds:
            raise UnknownName(f"kind in {whole.name}", kind, kinds)
    unknown = sorted((choice.ids or frozenset()) - whole.by_id.keys())
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise BadInput(f"{whole.name} has no item {unknown[0]!r}{more}")


def _keeps(whole: Benchmark, item: Item, choice: Choice) -> bool:
    return (
        (not choice.kinds or item.kind in choice.kinds)
        and (choice.ids is None or item.id in choice.ids)
        and (not choice.with_images or all(whole.picture(i).path.exists() for i in item.images))
    )


def merge(
    benchmarks: Sequence[Benchmark | Path | str],
    out: Path | str,
    *,
    name: str,
    overwrite: bool = False,
) -> Benchmark:
    """One benchmark with the items of several; two items of one id are an error."""
    parts = [b if isinstance(b, Benchmark) else load_benchmark(b) for b in benchmarks]
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
    items = [item for part in parts for item in part.items]
    merged = make_benchmark(card, parts[0].root, items, images.values())
    return save_benchmark(merged, Path(out), overwrite=overwrite)


def _from(root: Path, other: Path, uri: str) -> str:
    """A path that was relative to one folder, relative to another."""
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
            allowed="one picture an id",
            todo="give the images of one corpus other ids and build its benchmark again",
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """What sets two benchmarks apart, by item id."""

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    changed: tuple[str, ...]
    same: int

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "changed": list(self.changed),
            "same": self.same,
        }

    def __str__(self) -> str:
        lines = [f"{self.same:,} items are the same"]
        for ids, what in (
            (self.only_first, "only in the first"),
            (self.only_second, "only in the second"),
            (self.changed, "ask something else under the same id"),
        ):
            shown = ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")
            lines.append(f"{len(ids):,} {what}" + (f": {shown}" if ids else ""))
        return "\n".join(lines)


def diff(first: Benchmark | Path | str, second: Benchmark | Path | str) -> Difference:
    """Compare two benchmarks item by item."""
    a, b = (x if isinstance(x, Benchmark) else load_benchmark(x) for x in (first, second))
    common = [i for i in a.by_id if i in b.by_id]
    changed = [i for i in common if a.by_id[i].content != b.by_id[i].content]
    return Difference(
        tuple(i for i in a.by_id if i not in b.by_id),
        tuple(i for i in b.by_id if i not in a.by_id),
        tuple(changed),
        len(common) - len(changed),
    )
