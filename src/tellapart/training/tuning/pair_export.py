"""Training pairs as a folder for other trainers: split by picture, with licence and origin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tellapart.errors import BadInput, UnknownName
from tellapart.files import whole_folder, write_json, write_text
from tellapart.training.tuning.pair_files import write_pair_parquet, write_pair_table, write_shards
from tellapart.training.tuning.pairs import TrainingPairs, split_pairs

FORMS = ("csv", "webdataset", "huggingface")
CARD = "pairs.json"


def export_pairs(
    pairs: TrainingPairs,
    out: Path,
    forms: Sequence[str] = FORMS[:1],
    *,
    held_out: float = 0.2,
    seed: int = 0,
    overwrite: bool = False,
) -> Path:
    """Write `train` and `validation` in each format; no picture is in both.

    `csv`: train.csv, validation.csv; `webdataset`: shards/train-000000.tar, ...; `huggingface`:
    data/train-00000-of-....parquet, ... and a dataset card. `pairs.json` states the origin.
    """
    for form in forms:
        if form not in FORMS:
            raise UnknownName("format of training pairs", form, FORMS)
    if not forms:
        raise BadInput("no format was named", allowed=", ".join(FORMS))
    parts = dict(zip(("train", "validation"), split_pairs(pairs, held_out, seed), strict=True))
    with whole_folder(out, overwrite=overwrite) as folder:
        for name, part in parts.items():
            if "csv" in forms:
                write_pair_table(part, folder / f"{name}.csv")
            if "webdataset" in forms:
                (folder / "shards").mkdir(exist_ok=True)
                write_shards(part, folder / "shards", name)
            if "huggingface" in forms:
                (folder / "data").mkdir(exist_ok=True)
                write_pair_parquet(part, folder / "data", name)
        counts = {
            name: {"pairs": len(part), "images": len(part.images)} for name, part in parts.items()
        }
        card = {"name": pairs.name, "split": "by picture", "held_out": held_out, "seed": seed}
        write_json(folder / CARD, {**card, "counts": counts, "about": dict(pairs.about)})
        write_text(folder / "README.md", _readme(pairs, counts, "huggingface" in forms))
    return out


def _readme(pairs: TrainingPairs, counts: dict[str, dict[str, int]], data: bool) -> str:
    licence = str(pairs.about.get("licence") or "unknown")
    seen = pairs.rows["neg_image"].is_not_null().any()
    head: dict[str, Any] = {"pretty_name": f"{pairs.name}, for training", "license": licence}
    if data:
        files = [{"split": name, "path": f"data/{name}-*.parquet"} for name in counts]
        head["configs"] = [{"config_name": "default", "data_files": files}]
        kinds = {"image": "image", "negative_image": "image"}
        names = ["image", "caption", "negative_caption", "kind", "origin", "image_id",
                 "neg_image_id", *(["negative_image"] if seen else [])]  # fmt: skip
        features = [{"name": one, "dtype": kinds.get(one, "string")} for one in names]
        head["dataset_info"] = {"features": features}
    lines = [
        f"# {pairs.name}, for training",
        "",
        "Pictures with a true and a false caption"
        + (", and a picture of the false caption." if seen else "."),
        *(
            f"{name}: {_count(n['pairs'], 'pair')}, {_count(n['images'], 'picture')}."
            for name, n in counts.items()
        ),
        "Split by picture: no picture is in both.",
        f"Licence: {licence}. Citation: {pairs.about.get('citation') or 'none'}.",
        "The column `origin` has the source of each row; `pairs.json` says how they were made.",
    ]
    written = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{written}---\n\n" + "\n".join(lines) + "\n"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
