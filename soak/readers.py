"""Every reader of the toolkit: its input files, and the call that a command makes."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import yaml
from soak.target import Read, Target
from soak.training_readers import training_targets

from soak import excerpts
from tellapart.benchmark.benchmark import load_benchmark
from tellapart.benchmark.published.options import GetOptions
from tellapart.corpus.corpus import make_corpus
from tellapart.corpus.reader import ReadOptions, read_corpus
from tellapart.measures.captions.judge import judge_captions
from tellapart.measures.options import CaptionOptions
from tellapart.score.run import Run, RunCard, answers_frame, scores_frame
from tellapart.study.participants import read_participant_ids
from tellapart.text.caption_metrics.metric import Material, metric_of
from tellapart.verbs.benchmarks.get import get
from tellapart.verbs.build.trohn import TrohnOptions, read_settings
from tellapart.verbs.runs.import_ import import_scores
from tellapart.views.library import sheets_of
from tellapart.views.query import Query, selected


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
    made = [
        *_corpora(work), *_published(), _folder_of_benchmark(benchmarks), _tables(benchmarks),
        *_settings(), _results(), _addresses(benchmarks), *training_targets(work / "training"),
    ]  # fmt: skip
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


def _settings() -> list[Target]:
    """What people write by hand: layouts of tables, settings of builders, lists of people."""
    layout = {
        "images": ["image"], "captions": ["a", "b"], "true": "right", "counts_from": 1,
        "kind": "{kind}", "kinds": {"swap": "swap-object"}, "where": {"split": "test"},
        "id": "{@file}-{@number}", "notes": ["split"], "licence": "MIT",
    }  # fmt: skip
    rows = [
        {"image": f"{k}.jpg", "a": "A dog.", "b": "A cat.", "right": 1, "kind": "swap",
         "split": "test"}
        for k in range(3)
    ]  # fmt: skip

    def table(path: Path, skip_bad: bool) -> object:
        options = GetOptions(layout=path.parent / "layout.yaml", skip_bad=skip_bad, overwrite=True)
        return get("table", [path.parent / "rows.jsonl"], path.parent.parent / "out", options)

    def settings(path: Path, _skip_bad: bool) -> object:
        return read_settings(path.stem, TrohnOptions(settings=path))

    def people(path: Path, _skip_bad: bool) -> object:
        return read_participant_ids(path)

    ids = [f"{k}" * 24 for k in range(3)]
    return [
        Target("layout", {
            "layout.yaml": yaml.safe_dump(layout).encode(), "rows.jsonl": excerpts.lines(rows),
        }, table),
        Target("settings", {
            "trohn-text.yaml": b"validation: 0.1\n", "trohn-img.yaml": b"maker: 'world:'\n",
        }, settings),
        Target("participants", {
            "a.txt": "\n".join(ids).encode(), "a.csv": "\n".join(["Participant id", *ids]).encode(),
        }, people),
    ]  # fmt: skip


def _results() -> Target:
    """What captioners wrote, judged against what people wrote."""
    corpus = make_corpus(
        "people", Path(), [{"id": str(k), "uri": f"{k}.jpg"} for k in range(3)],
        [{"id": f"{k}-{n}", "image": str(k), "text": text}
         for k in range(3) for n, text in enumerate(excerpts.CAPTIONS)],
    )  # fmt: skip
    rows = [{"image_id": k, "caption": excerpts.CAPTIONS[k]} for k in range(3)]

    options = CaptionOptions(metrics=("BLEU-4",), resamples=20)
    material = Material([excerpts.CAPTIONS[0]], [list(excerpts.CAPTIONS)])
    metric_of("BLEU-4").marks(material)  # compiled now, and not while an input is judged

    def read(path: Path, skip_bad: bool) -> object:
        return str(judge_captions(path, corpus, replace(options, skip_bad=skip_bad)))

    return Target("results", {
        "a.json": _json(rows), "a.json.gz": _gz(_json(rows)), "a.jsonl": excerpts.lines(rows),
        "a.csv": pl.DataFrame(rows).write_csv().encode(),
    }, read)  # fmt: skip


def _addresses(benchmarks: Path) -> Target:
    """Addresses of the view, each asked of a run."""
    benchmark = load_benchmark(benchmarks / "bivlc")
    grid = [[0.75, 0.25], [0.25, 0.5]]
    cells = [(one.id, i, j, "", grid[i][j]) for one in benchmark.items
             for i in range(2) for j in range(2)]  # fmt: skip
    card = RunCard("one", "scorer", benchmark.name, benchmark.sha256)
    (sheet,) = sheets_of([Run(card, benchmark, scores_frame(cells), answers_frame([]))], [])
    facts = [f"fact.{name}={fact.names[0]}&" for name, fact in sheet.facts.items()]
    asked = (
        "items?sheet=bivlc&a=one&ao=rw", "items?q=a+%22red+dog%22&in=changed&sort=wrong",
        f"items?{''.join(facts)}starred=1&noted=1", "compare?a=one&sort=margin",
    )  # fmt: skip

    def read(path: Path, _skip_bad: bool) -> object:
        address = path.read_bytes().decode("utf-8", "replace")
        return selected(Query.at(address), sheet)

    return Target("address", {f"{k}.address": one.encode() for k, one in enumerate(asked)}, read)
