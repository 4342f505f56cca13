"""The verb `get`: import a published benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tellapart.benchmark.published.options import GetOptions
from tellapart.options import Help
from tellapart.registry import importers
from tellapart.types import Progress, silent
from tellapart.verbs import Verb, benchmark_json, benchmark_text, skipped_notes

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


def get(
    name: Annotated[
        str,
        Help("A benchmark (see: tellapart list importers), or table for a file of your own."),
    ],
    files: Annotated[
        Sequence[Path | str] | Path | str,
        Help(
            "Files, their folders, or hf:owner/name; if omitted, they are downloaded if possible "
            "(sugarcrepe).",
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

    In Python: `files` are files, their folders, or a dataset on the Hugging Face hub
    (`hf:owner/name`); if omitted, they are downloaded if their address is known. `out` defaults
    to a folder with the benchmark's name under `TELLAPART_HOME`; if it is a file, it is read.
    """
    from tellapart.benchmark.homes import home
    from tellapart.benchmark.image_files import save_portable
    from tellapart.benchmark.published.download import source_files
    from tellapart.benchmark.published.importer import Importer, import_benchmark

    importer: Importer = importers.get(name)
    sources = [files] if isinstance(files, Path | str) else files
    if not sources and out is not None and Path(out).is_file():
        sources, out = [out], None  # `get table FILE`: an existing file cannot be the output folder
    benchmark = import_benchmark(importer, source_files(importer, sources, progress), options)
    where = Path(out) if out is not None else home() / benchmark.name
    return save_portable(
        benchmark, where, overwrite=options.overwrite, copy_images=options.copy_images
    )


def _notes(benchmark: Benchmark) -> list[str]:
    """Remarks about the imported data."""
    made = benchmark.card.made
    doubles = made["duplicates"]
    lines = skipped_notes(benchmark.card.skipped)
    if doubles["items"]:
        kept = "kept and flagged" if doubles["kept"] else "left out"
        lines.append(f"{doubles['items']:,} items duplicate an earlier one: {kept}")
    if made.get("left_out_unconfirmed"):
        number = made["left_out_unconfirmed"]
        lines.append(f"{number:,} pairs that people did not confirm: left out (--all)")
    if made.get("rows_of_other_sorts"):
        lines.append(f"{made['rows_of_other_sorts']:,} rows of other types: left out")
    if made.get("rows_without_negatives"):
        lines.append(f"{made['rows_without_negatives']:,} rows without a negative: left out")
    if made.get("left_out_without_images"):
        lines.append(f"{made['left_out_without_images']:,} items without their pictures: left out")
    elif made.get("images_only_printed"):
        lines.append(
            "the file has its pictures only as printed Python objects: answers computed elsewhere "
            "can be imported, but models cannot be run"
        )
    elif made["images"]["missing"]:
        lines.append(_missing_pictures(benchmark))
    return lines


def _missing_pictures(benchmark: Benchmark) -> str:
    """How many pictures are missing, and what to do about it."""
    made = benchmark.card.made
    found, missing = made["images"]["found"], made["images"]["missing"]
    line = f"{missing:,} of {found + missing:,} pictures were not found"
    if not found:
        return f"{line}: give their folder with --images DIR"
    ready, items = made["items_with_images"], len(benchmark.items)
    kept = "keep only those with subset --with-images"
    return f"{line}; {ready:,} of {items:,} items have all of theirs ({kept})"


VERB = Verb(
    get,
    example="tellapart get sugarcrepe my-sugarcrepe --from sugar-crepe/data/*.json "
    "--images coco/val2017",
    text=benchmark_text,
    json=benchmark_json,
    notes=_notes,
)
