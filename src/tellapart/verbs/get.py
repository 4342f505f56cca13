"""The verb `get`: a published benchmark becomes one like any other."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, save_benchmark
from tellapart.benchmark.homes import home
from tellapart.benchmark.published.download import fetch
from tellapart.benchmark.published.hub import PREFIX, hub_files
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.errors import BadInput
from tellapart.items import Item, content_of
from tellapart.options import Help
from tellapart.registry import importers
from tellapart.tables import suffix
from tellapart.text.english import alike
from tellapart.types import Progress, silent
from tellapart.verbs.verb import Verb, benchmark_json, benchmark_text, skipped_notes


def get(
    name: Annotated[
        str,
        Help("aro, bison, bivlc, foil, mcic, pairs, sugarcrepe, valse, winoground, or a plugin."),
    ],
    files: Annotated[
        Sequence[Path | str] | Path | str,
        Help(
            "Files, folders that hold them, or hf:owner/name; left out, they are downloaded "
            "where that can be done (sugarcrepe).",
            flag="--from",
            metavar="FILES...",
        ),
    ] = (),
    out: Annotated[
        Path | str | None, Help("Folder to write to (default: under TELLAPART_HOME).")
    ] = None,
    options: GetOptions = GetOptions(),  # noqa: B008 (frozen)
    progress: Progress = silent,
) -> Benchmark:
    """Get a published benchmark from its authors' files.

    In Python: `files` are files, folders that hold them, or a dataset on the Hugging Face hub
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


def _notes(benchmark: Benchmark) -> list[str]:
    """What a person should know of what came in."""
    made = benchmark.card.made
    doubles = made["duplicates"]
    lines = skipped_notes(benchmark.card.skipped)
    if doubles["items"]:
        kept = "kept and flagged" if doubles["kept"] else "left out"
        lines.append(f"{doubles['items']:,} items ask the same as an earlier one: {kept}")
    if made.get("left_out_unconfirmed"):
        number = made["left_out_unconfirmed"]
        lines.append(f"{number:,} pairs that people did not confirm: left out (--all)")
    if made.get("left_out_without_images"):
        lines.append(f"{made['left_out_without_images']:,} items without their pictures: left out")
    elif made["images"]["missing"]:
        missing = made["images"]["missing"]
        lines.append(f"{missing:,} pictures were not found: name their folder (--images)")
    return lines


VERB = Verb(
    get,
    example="tellapart get sugarcrepe my-sugarcrepe --from sugar-crepe/data/*.json "
    "--images coco/val2017",
    text=benchmark_text,
    json=benchmark_json,
    notes=_notes,
)
