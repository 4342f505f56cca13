"""Every reader of the toolkit: its input files, and the call that a command makes."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from soak.mutations import (
    Mutation,
    Rng,
    mutate_bytes,
    mutate_json,
    mutate_jsonl,
    mutate_lines,
    mutate_packed,
    mutate_parquet,
    pick,
    splice,
)

from soak import excerpts
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.benchmark.published.options import GetOptions
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.files import suffix
from tellapart.verbs.benchmarks.get import get
from tellapart.verbs.runs.import_ import import_scores

BY_ENDING: dict[str, Mutation] = {
    "json": mutate_json, "jsonl": mutate_jsonl, "parquet": mutate_parquet,
}  # fmt: skip
"""The mutations that know a form; those of lines are for all other endings."""

Read = Callable[[Path, bool], object]
"""Reads the file at a path, without the bad rows if so asked, as a user's command does."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader: its whole files by name, and how one of them is read.

    All files lie in one folder, and one at a time is replaced by a mutated one. An input is a
    byte that picks the file and whether bad rows are skipped, and then the file's bytes.
    """

    name: str
    files: Mapping[str, bytes]
    read: Read
    surroundings: Mapping[str, bytes] = field(default_factory=dict)

    def seeds(self) -> list[bytes]:
        """The whole files as inputs, once with bad rows skipped and once without."""
        inputs = range(2 * len(self.files))
        return [bytes([k]) + self.files[self.picked(bytes([k]))[0]] for k in inputs]

    def picked(self, data: bytes) -> tuple[str, bool]:
        """The name of the file that an input replaces, and whether bad rows are skipped."""
        number = data[0] if data else 0
        return list(self.files)[number // 2 % len(self.files)], bool(number % 2)

    def mutate(self, data: bytes, rng: Rng) -> bytes:
        """Another input for the same file."""
        head, body = data[:1] or b"\0", data[1:]
        name = self.picked(head)[0]
        if rng.random() < 0.3:
            head = bytes([head[0] ^ 1])
        if rng.random() < 0.05:
            return head + splice(body, pick(rng, list(self.files.values())), rng)
        inner = BY_ENDING.get(suffix(Path(name)), mutate_lines)
        change = inner if rng.random() < 0.7 else mutate_bytes
        if name.endswith(".gz"):
            return head + mutate_packed(body, change, rng)
        return head + change(body, rng)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def _corpus(path: Path, skip_bad: bool) -> object:
    return read_corpus(path, ReadOptions(skip_bad=skip_bad))


def _coco(path: Path, skip_bad: bool) -> object:
    if "captions" in path.name:
        return _corpus(path, skip_bad)
    return read_corpus(path.parent / "captions.json", ReadOptions(objects=path, skip_bad=skip_bad))


def _folder(path: Path, skip_bad: bool) -> object:
    return _corpus(path.parent, skip_bad)


def _benchmark(path: Path, skip_bad: bool) -> object:
    return load_benchmark(path.parent)


def _importer(name: str) -> Read:
    def read(path: Path, skip_bad: bool) -> object:
        options = GetOptions(skip_bad=skip_bad, overwrite=True)
        return get(name, [path], path.parent.parent / "out", options)

    return read


def _scores(benchmarks: Path) -> Read:
    loaded = {name: load_benchmark(benchmarks / name) for name in ("bison", "bivlc")}

    def read(path: Path, skip_bad: bool) -> object:
        benchmark = loaded["bison" if path.name.startswith("predictions") else "bivlc"]
        out = path.parent.parent / "out"
        return import_scores(
            benchmark,
            path,
            name="elsewhere",
            out=out,
            order="source",
            skip_bad=skip_bad,
            overwrite=True,
        )

    return read


def targets(work: Path) -> dict[str, Target]:
    """All readers by name; `work` is a folder in which they may put what they need."""
    benchmarks = _built(work / "benchmarks")
    made = [*_corpora(work), *_published(), _folder_of_benchmark(benchmarks), _tables(benchmarks)]
    return {target.name: target for target in made}


def _built(folder: Path) -> Path:
    """The benchmarks that scores are for, got from whole files."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = {"bison": ("bison.json", excerpts.bison()), "bivlc": ("b.jsonl", excerpts.bivlc())}
    for name, (file, rows) in sources.items():
        lines = excerpts.lines(rows) if isinstance(rows, list) else _json(rows)
        (folder / file).write_bytes(lines)
        get(name, [folder / file], folder / name, GetOptions(overwrite=True))
    return folder


def _corpora(work: Path) -> list[Target]:
    coco, flickr, table = _json(excerpts.coco()), excerpts.flickr(), excerpts.table(",")
    rows = excerpts.lines(excerpts.caption_lists())
    flat = pl.read_csv(table)
    packed = excerpts.parquet(flat)
    pictures = excerpts.parquet(excerpts.with_pictures())
    return [
        Target("coco", {
            "captions.json": coco, "captions.json.gz": _gz(coco),
            "instances.json": _json(excerpts.instances()),
            "names.json": _json(excerpts.named_objects()),
        }, _coco),
        Target("flickr", {"a.token.txt": flickr, "a.token.gz": _gz(flickr)}, _corpus),
        Target("csv", {
            "a.csv": table, "a.csv.gz": _gz(table), "a.tsv": excerpts.table("\t"),
        }, _corpus),
        Target("jsonl", {
            "a.jsonl": rows, "a.jsonl.gz": _gz(rows), "b.jsonl": excerpts.lines(flat.to_dicts()),
        }, _corpus),
        Target("parquet", {
            "a.parquet": packed, "a.parquet.gz": _gz(packed), "b.parquet": pictures,
        }, _corpus),
        Target("native", _native(work / "corpus"), _folder),
        Target("folder", {
            "a.txt": b"A dog.\nTwo dogs.\n", "b.txt.gz": _gz(b"A cat.\n"),
        }, _folder, {"a.jpg": excerpts.PICTURE, "b.png": excerpts.PICTURE}),
    ]  # fmt: skip


def _native(folder: Path) -> dict[str, bytes]:
    from tellapart.corpus.corpus import save_corpus

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.jsonl").write_bytes(excerpts.lines(excerpts.caption_lists()))
    save_corpus(read_corpus(folder / "a.jsonl"), folder / "written", overwrite=True)
    return {file.name: file.read_bytes() for file in sorted((folder / "written").iterdir())}


def _published() -> list[Target]:
    mcic, bison = excerpts.mcic(), _json(excerpts.bison())
    wino, bivlc = excerpts.winoground(), excerpts.bivlc()
    files: dict[str, dict[str, bytes]] = {
        "mcic": {"a.txt": mcic, "a.txt.gz": _gz(mcic)},
        "bison": {"a.json": bison, "a.json.gz": _gz(bison)},
        "foil": {"val.json": _json(excerpts.foil()), "valse.json": _json(excerpts.valse())},
        "sugarcrepe": {"add_att.json": _json(excerpts.sugarcrepe())},
        "valse": {"a.json": _json(excerpts.valse())},
        "aro": {"a.json": _json(excerpts.aro())},
        "winoground": {
            "a.jsonl": excerpts.lines(wino), "a.parquet": excerpts.parquet(pl.DataFrame(wino)),
        },
        "crepe": {"a.csv": pl.DataFrame(excerpts.crepe()).write_csv().encode()},
        "eqben": {"a.json": _json(excerpts.eqben())},
        "naturalbench": {"a.jsonl": excerpts.lines(excerpts.naturalbench())},
        "bivlc": {
            "a.jsonl": excerpts.lines(bivlc), "a.parquet": excerpts.parquet(pl.DataFrame(bivlc)),
        },
    }  # fmt: skip
    return [Target(name, whole, _importer(name)) for name, whole in files.items()]


def _folder_of_benchmark(benchmarks: Path) -> Target:
    whole = {file.name: file.read_bytes() for file in sorted((benchmarks / "bivlc").iterdir())}
    return Target("benchmark", whole, _benchmark)


def _tables(benchmarks: Path) -> Target:
    """Scores, choices and outcomes in each of their forms."""
    items = load_benchmark(benchmarks / "bivlc").items
    cells = [(i, j) for i in range(2) for j in range(2)]
    long = [
        {"item": item.id, "image": i, "caption": j, "score": 0.25 * i + 0.5 * j}
        for item in items
        for i, j in cells
    ]
    wide = [{"item": item.id, **{f"s_{i}_{j}": 0.5 for i, j in cells}} for item in items]
    asked = ("caption@0", "caption@1", "image@0", "image@1")
    choices = [
        {
            "item": item.id,
            "question": name,
            "choice": 0,
            "trial": trial,
            "order": [trial, 1 - trial],
        }
        for item in items
        for name in asked
        for trial in (0, 1)
    ]
    outcomes = [{"item": item.id, **dict.fromkeys(asked, True)} for item in items]
    predictions = _json(excerpts.predictions())
    return Target("scores", {
        "long.csv": pl.DataFrame(long).write_csv().encode(),
        "wide.tsv": pl.DataFrame(wide).write_csv(separator="\t").encode(),
        "choices.jsonl": excerpts.lines(choices),
        "outcomes.json": _json(outcomes),
        "predictions.json": predictions,
        "predictions.json.gz": _gz(predictions),
        "long.parquet": excerpts.parquet(pl.DataFrame(long)),
    }, _scores(benchmarks))  # fmt: skip
