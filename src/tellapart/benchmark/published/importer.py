"""The verb `get`: a published benchmark becomes one like any other.

A plugin adds a source with one `Importer`, named under `tellapart.importers` among its package's
entry points; `Gathering` does what all of them need.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, save_benchmark
from tellapart.benchmark.homes import home
from tellapart.benchmark.published.download import Progress, Source, fetch
from tellapart.benchmark.published.hub import PREFIX, hub_files
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.errors import BadInput
from tellapart.items import Item, content_of
from tellapart.registry import importers
from tellapart.tables import suffix
from tellapart.text.english import alike

DEFAULTS = GetOptions()


@dataclass(frozen=True, slots=True)
class Importer:
    """How one source is read, and what is to be said of it.

    `read` turns the source's files into items. `endings` are those of the files that are taken
    from a folder; `page` is where a person finds them, `sources` are the ones that can be fetched.
    `verified` says who checked the items before they were published.
    """

    name: str
    about: str
    read: Callable[[Sequence[Path], GetOptions], Imported]
    endings: tuple[str, ...]
    page: str = ""
    licence: str = ""
    citation: str = ""
    verified: str = ""
    measures: tuple[str, ...] = ("accuracy",)
    sources: tuple[Source, ...] = ()


def get(
    name: str,
    files: Sequence[Path | str] | Path | str = (),
    out: Path | str | None = None,
    options: GetOptions = DEFAULTS,
    *,
    progress: Progress = lambda name, done, total: None,
) -> Benchmark:
    """Import a published benchmark from its authors' files and save it.

    `files` are files, folders that hold them, or a dataset on the Hugging Face hub
    (`hf:owner/name`); left out, they are downloaded where their address is known. `out` left out
    is a folder of the benchmark's name under `TELLAPART_HOME`.
    """
    importer: Importer = importers.get(name)
    given = [files] if isinstance(files, Path | str) else files
    paths = _files(importer, given, progress)
    imported = importer.read(paths, options)
    if options.alike:
        imported = replace(imported, items=tuple(_formatted(item) for item in imported.items))
    kept, counted = _kept(imported, options)
    card = Card(
        name=options.name or importer.name,
        about=importer.about,
        measures=importer.measures,
        made={
            "by": f"tellapart get {importer.name}",
            "files": [_file_facts(path, importer) for path in paths],
            **imported.facts,
            **counted,
            "options": options.for_card(),
        },
        licence=importer.licence,
        citation=importer.citation,
        verified=imported.verified or importer.verified,
    )
    problems = imported.problems
    benchmark = make_benchmark(
        card, imported.root, kept, imported.images.values(), problems=problems
    )
    where = Path(out) if out is not None else home() / card.name
    return save_benchmark(benchmark, where, overwrite=options.overwrite)


def _formatted(item: Item) -> Item:
    """The item with its captions formatted alike; one with a slot stays, as places would move."""
    if item.slot is not None:
        return item
    changed = replace(item, captions=tuple(alike(caption) for caption in item.captions))
    return replace(changed, content=content_of(changed))


def _files(importer: Importer, given: Sequence[Path | str], progress: Progress) -> list[Path]:
    if not given and importer.sources:
        return [fetch(source, progress) for source in importer.sources]
    if not given:
        raise BadInput(
            f"which files is {importer.name} to be read from?",
            allowed=", ".join(f".{ending}" for ending in importer.endings) + ", each also with .gz",
            todo="name them with --from" + (f"; they are at {importer.page}" * bool(importer.page)),
        )
    paths: list[Path] = []
    for one in given:
        if str(one).startswith(PREFIX):
            paths += hub_files(str(one))
        elif Path(one).is_dir():
            paths += _inside(Path(one), importer)
        else:
            paths.append(Path(one))
    return paths


def _inside(folder: Path, importer: Importer) -> list[Path]:
    found = sorted(p for p in folder.iterdir() if p.is_file() and suffix(p) in importer.endings)
    if not found:
        raise BadInput(
            f"{folder.name} holds no file of {importer.name}",
            where=str(folder),
            allowed=", ".join(f".{ending}" for ending in importer.endings),
        )
    return found


def _file_facts(path: Path, importer: Importer) -> dict[str, Any]:
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    known = {source.sha256 for source in importer.sources}
    as_known = {"as_published": sha256 in known} if known else {}
    return {"name": path.name, "sha256": sha256, **as_known}


def _kept(imported: Imported, options: GetOptions) -> tuple[list[Item], dict[str, Any]]:
    """The items to keep, duplicates flagged, and what the card says of the others."""
    items, duplicates = _flagged(imported.items)
    if options.drop_duplicates:
        items = [item for item in items if item.id not in duplicates]
    used = {image for item in items for image in item.images}
    whole = [item for item in items if imported.found.issuperset(item.images)]
    counted = {
        "duplicates": {
            "items": len(duplicates),
            "kept": not options.drop_duplicates,
            "of": duplicates,
        },
        "images": {"found": len(used & imported.found), "missing": len(used - imported.found)},
        "items_with_images": len(whole),
    }
    if not options.only_with_images:
        return items, counted
    imported.problems.settle()
    if items and not whole:
        example = imported.images[items[0].images[0]].uri
        raise BadInput(
            f"none of the {len(items):,} items has all of its images",
            where=str(imported.root),
            allowed=f"picture files such as {example}",
            todo="name the folder that holds them with --images, or leave out --only-with-images",
        )
    return whole, {**counted, "left_out_without_images": len(items) - len(whole)}


def _flagged(items: Sequence[Item]) -> tuple[list[Item], dict[str, str]]:
    """The items, with a note on each that asks what another one asked; id by id of the first."""
    first: dict[str, str] = {}
    flagged = [_noted(item, first.setdefault(item.content, item.id)) for item in items]
    duplicates = {
        item.id: first[item.content] for item in flagged if first[item.content] != item.id
    }
    return flagged, duplicates


def _noted(item: Item, earlier: str) -> Item:
    if earlier == item.id:
        return item
    notes = {**item.origin.notes, "duplicate_of": earlier}
    return replace(item, origin=replace(item.origin, notes=notes))
