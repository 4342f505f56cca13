"""The files to mutate: excerpts of real ones, or small ones in the same layouts.

If `TELLAPART_REAL_DATA` names a folder of published data, a few rows come from there.
"""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import polars as pl

ROWS = 4
CAPTIONS = ("A dog on a lawn.", "Two cats – one grey, “asleep”.", "A bus at a stop.", "A kite.")
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(40)


def real(path: str) -> bytes | None:
    """The bytes of a published file, unpacked; None where it is not there."""
    folder = os.environ.get("TELLAPART_REAL_DATA")
    file = Path(folder or "") / path
    if not folder or not file.is_file():
        return None
    data = file.read_bytes()
    return gzip.decompress(data) if path.endswith(".gz") else data


def coco() -> dict[str, Any]:
    """COCO captions of some images."""
    found = real("coco/captions_val2017.json.gz")
    if found is None:
        images = [{"id": k, "file_name": f"{k:012d}.jpg", "width": 640} for k in range(ROWS)]
        rows = [{"id": k + 9, "image_id": k, "caption": CAPTIONS[k]} for k in range(ROWS)]
        return {"info": {"year": 2017}, "images": images, "annotations": rows}
    data = json.loads(found)
    ids = {image["id"] for image in data["images"][:ROWS]}
    rows = [row for row in data["annotations"] if row["image_id"] in ids]
    return {"info": data["info"], "images": data["images"][:ROWS], "annotations": rows[: 2 * ROWS]}


def instances() -> dict[str, Any]:
    """COCO instances of the same images."""
    images = coco()["images"]
    rows = [{"id": k, "image_id": image["id"], "category_id": 1} for k, image in enumerate(images)]
    return {"images": images, "annotations": rows, "categories": [{"id": 1, "name": "dog"}]}


def named_objects() -> dict[str, Any]:
    """The objects of the same images by name, in both of the forms that have names."""
    first, *others = (str(image["id"]) for image in coco()["images"])
    return {first: {"objects": [{"category": "dog"}]}, **{key: ["dog", "cat"] for key in others}}


def pairs() -> list[tuple[str, str]]:
    """File names of images, each with a caption."""
    data = coco()
    names = {image["id"]: image["file_name"] for image in data["images"]}
    return [(names[row["image_id"]], row["caption"]) for row in data["annotations"]]


def flickr() -> bytes:
    """A token file."""
    found = real("flickr8k/captions.token.txt")
    if found is not None:
        return b"\n".join(found.split(b"\n")[: 3 * ROWS]) + b"\n"
    return "".join(f"{k}.jpg#{k}\t{text}\n" for k, text in enumerate(CAPTIONS)).encode()


def table(separator: str) -> bytes:
    """A table as CSV or TSV, with all the columns that are known."""
    rows = [
        {"image": name, "caption": text, "caption_id": str(k), "objects": "dog;cat"}
        for k, (name, text) in enumerate(pairs())
    ]
    return pl.DataFrame(rows).write_csv(separator=separator).encode()


def lines(rows: list[dict[str, Any]]) -> bytes:
    """Rows as JSONL."""
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def caption_lists() -> list[dict[str, Any]]:
    """Rows with lists in them."""
    return [
        {"image": name, "caption": [text, f"{text} Indeed."], "image_id": k, "objects": ["dog"]}
        for k, (name, text) in enumerate(pairs())
    ]


def parquet(table: pl.DataFrame) -> bytes:
    """A table as Parquet."""
    file = io.BytesIO()
    table.write_parquet(file, compression="snappy")
    return file.getvalue()


def with_pictures() -> pl.DataFrame:
    """A table as Hugging Face datasets hold it, with the bytes of pictures inside."""
    rows = [
        {"image": {"bytes": PICTURE + bytes([k]), "path": name}, "caption": text}
        for k, (name, text) in enumerate(pairs())
    ]
    return pl.DataFrame(rows)


def mcic() -> bytes:
    """MCIC's lines."""
    found = real("mcic/mc_mscoco_dev.txt.gz")
    if found is not None:
        return b"\n".join(found.split(b"\n")[: 2 * ROWS]) + b"\n"
    answers = "\t".join(f"answer_{k}={text}" for k, text in enumerate(CAPTIONS))
    return "".join(
        f"{answers}\timage=COCO_train2014_{k:012d}.jpg\texample_id={k}_0\treference={k}\n"
        for k in range(ROWS)
    ).encode()


def bison() -> dict[str, Any]:
    """COCO-BISON's annotations."""
    found = real("bison/bison_annotations.cocoval2014.json.gz")
    if found is not None:
        data = json.loads(found)
        return {"info": data["info"], "data": data["data"][: 2 * ROWS]}
    rows = [
        {
            "bison_id": k,
            "caption": f"{text}\r",
            "image_candidates": [{"image_id": 2 * k}, {"image_id": 2 * k + 1}],
            "true_image_id": 2 * k,
        }
        for k, text in enumerate(CAPTIONS)
    ]
    return {"info": {}, "data": rows}


def predictions() -> list[dict[str, Any]]:
    """BISON's predictions file for the rows above."""
    return [
        {"predicted_image_id": row["true_image_id"], "bison_id": row["bison_id"]}
        for row in bison()["data"]
    ]


def sugarcrepe() -> dict[str, Any]:
    """SugarCrepe's entries."""
    found = real("sugarcrepe/add_att.json")
    if found is not None:
        return dict(list(json.loads(found).items())[: 2 * ROWS])
    return {
        str(k): {"filename": f"{k:012d}.jpg", "caption": text, "negative_caption": f"No {text}"}
        for k, text in enumerate(CAPTIONS)
    }


def valse() -> dict[str, Any]:
    """VALSE's entries, which are also a form of FOIL-COCO."""
    found = real("foil/valse_foil_it.json")
    if found is not None:
        return dict(list(json.loads(found).items())[: 2 * ROWS])
    entry = {
        "dataset": "FOIL", "linguistic_phenomena": "noun phrases", "image_file": "a.jpg",
        "caption": "A dog on a lawn.", "foil": "A cat on a lawn.", "classes": "dog",
        "classes_foil": "cat", "mturk": {"caption": 3, "foil": 0, "other": 0},
    }  # fmt: skip
    return {f"foil_{k}": {**entry, "image_file": f"{k}.jpg"} for k in range(ROWS)}


def foil() -> dict[str, Any]:
    """FOIL-COCO as its authors publish it."""
    rows = []
    for k in range(ROWS):
        one = {"id": k, "image_id": k, "target_word": "ORIG", "foil_word": "ORIG"}
        rows.append({**one, "caption": "A dog on a lawn.", "foil": False})
        foil = {"caption": "A cat on a lawn.", "foil": True, "target_word": "dog"}
        rows.append({**one, **foil, "foil_word": "cat", "foil_id": k})
    return {"annotations": rows, "images": [{"id": 0, "file_name": "COCO_val2014_0.jpg"}]}


def aro() -> list[dict[str, Any]]:
    """ARO's relations."""
    box = {"bbox_x": 1, "bbox_y": 2, "bbox_w": 30, "bbox_h": 40}
    captions = {"true_caption": "the dog is on the lawn", "false_caption": "the lawn is on the dog"}
    return [
        {"image_path": f"{k}.jpg", "relation_name": "on", **box, **captions} for k in range(ROWS)
    ]


def winoground() -> list[dict[str, Any]]:
    """Winoground's rows."""
    captions = {"caption_0": "some plants around a bulb", "caption_1": "a bulb around some plants"}
    return [
        {"id": k, "image_0": f"{k}a.png", "image_1": f"{k}b.png", **captions, "tag": "Noun"}
        for k in range(ROWS)
    ]


def crepe() -> list[dict[str, Any]]:
    """CREPE's rows of systematicity: lists as text, and a box."""
    box = {"x": 1, "y": 2, "width": 30, "height": 40}
    negatives = {"valid_hard_negs_atom": "['a cat', 'a cow']", "valid_hard_negs_comp": "[]"}
    return [{"image_id": k, "caption": "a dog", **box, **negatives} for k in range(ROWS)]


def eqben() -> dict[str, Any]:
    """EqBen's annotations of videos: rows further down, captions in lists."""
    captions = {"caption0": ["a man sits", "he sits"], "caption1": ["a man runs"]}
    rows = [{"image0": f"v/{k}a.jpg", "image1": f"v/{k}b.jpg", **captions} for k in range(ROWS)]
    return {"video": {"man": rows}}


def naturalbench() -> list[dict[str, Any]]:
    """NaturalBench's rows: a column a cell says yes or no."""
    truth = {f"Image_{i}_Question_{j}": "Yes" if i == j else "No" for i in (0, 1) for j in (0, 1)}
    asked = {"Question_0": "Is it wet?", "Question_1": "Is it dry?", "Question_Type": "yes_no"}
    return [
        {"Index": k, "Image_0": f"{k}a.jpg", "Image_1": f"{k}b.jpg", **asked, **truth}
        for k in range(ROWS)
    ]


def bivlc() -> list[dict[str, Any]]:
    """BiVLC's rows."""
    captions = {"caption": "a red dog", "negative_caption": "a blue dog"}
    kind = {"type": "replace", "subtype": "att"}
    return [
        {"image": f"{k:012d}.jpg", "negative_image": f"{k}n.jpg", **captions, **kind}
        for k in range(ROWS)
    ]
