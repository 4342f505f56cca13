"""The verb `get`: a published benchmark becomes one like any other."""

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
        Help("A benchmark (see: tellapart list importers), or table for any file of your own."),
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
    is a folder of the benchmark's name under `TELLAPART_HOME`. A file in its place is read.
    """
    from tellapart.benchmark.homes import home
    from tellapart.benchmark.image_files import save_portable
    from tellapart.benchmark.published.download import source_files
    from tellapart.benchmark.published.importer import Importer, import_benchmark

    importer: Importer = importers.get(name)
    sources = [files] if isinstance(files, Path | str) else files
    if not sources and out is not None and Path(out).is_file():
        sources, out = [out], None  # `get table FILE`: what is a file cannot be the folder
    benchmark = import_benchmark(importer, source_files(importer, sources, progress), options)
    where = Path(out) if out is not None else home() / benchmark.name
    return save_portable(
        benchmark, where, overwrite=options.overwrite, copy_images=options.copy_images
    )


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
    if made.get("rows_of_other_sorts"):
        lines.append(f"{made['rows_of_other_sorts']:,} rows of other sorts: left out")
    if made.get("rows_without_negatives"):
        lines.append(f"{made['rows_without_negatives']:,} rows without a negative: left out")
    if made.get("left_out_without_images"):
        lines.append(f"{made['left_out_without_images']:,} items without their pictures: left out")
    elif made.get("images_only_printed"):
        lines.append(
            "the file has its pictures only as Python prints them: answers that were computed "
            "elsewhere can be imported, models have nothing to look at"
        )
    elif made["images"]["missing"]:
        lines.append(_missing_pictures(benchmark))
    return lines


def _missing_pictures(benchmark: Benchmark) -> str:
    """How many pictures are not there, and what can be done about it."""
    made = benchmark.card.made
    found, missing = made["images"]["found"], made["images"]["missing"]
    line = f"{missing:,} of {found + missing:,} pictures were not found"
    if not found:
        return f"{line}: name their folder with --images DIR"
    ready, items = made["items_with_images"], len(benchmark.items)
    kept = "subset --with-images keeps those"
    return f"{line}; {ready:,} of {items:,} items have all of theirs ({kept})"


VERB = Verb(
    get,
    example="tellapart get sugarcrepe my-sugarcrepe --from sugar-crepe/data/*.json "
    "--images coco/val2017",
    text=benchmark_text,
    json=benchmark_json,
    notes=_notes,
)
