"""What pages take for granted, small: drawn pictures with captions in every form, tests, runs.

A maker gets the folder and the name that a page uses, and puts it there.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import tellapart as ta

SCENES = 36


def drawn(place: Path) -> ta.Corpus:
    """One small world for all that is made in a folder."""
    root = place / ".drawn"
    if root.exists():
        return ta.read_corpus(root)
    return ta.world(root, scenes=SCENES, seed=4, part="test")


def numbers(corpus: ta.Corpus) -> dict[str, int]:
    """Ids as COCO has them."""
    return {image: k + 1 for k, image in enumerate(corpus.texts_by_image)}


def coco_name(number: int) -> str:
    """The file of a picture in the folders of 2014."""
    return f"COCO_val2014_{number:012d}.jpg"


def folder_of_pictures(place: Path, name: str) -> None:
    """Pictures with COCO's names."""
    corpus = drawn(place)
    (place / name).mkdir()
    for image, number in numbers(corpus).items():
        corpus.picture(image).open().convert("RGB").save(place / name / coco_name(number))


def captioned_folder(place: Path, name: str) -> None:
    """Pictures with a text file beside each."""
    corpus = drawn(place)
    (place / name).mkdir()
    for image, texts in corpus.texts_by_image.items():
        corpus.picture(image).open().convert("RGB").save(place / name / f"{image}.jpg")
        (place / name / f"{image}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")


def coco_captions(place: Path, name: str) -> None:
    """COCO captions JSON."""
    corpus = drawn(place)
    ids = numbers(corpus)
    rows = [
        {"id": 10 * ids[image] + k, "image_id": ids[image], "caption": text}
        for image, texts in corpus.texts_by_image.items()
        for k, text in enumerate(texts)
    ]
    images = [{"id": number, "file_name": coco_name(number)} for number in ids.values()]
    (place / name).write_text(json.dumps({"images": images, "annotations": rows}))


def table(place: Path, name: str) -> None:
    """A table with the columns image and caption."""
    corpus = drawn(place)
    with (place / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("image", "caption"))
        for image, number in numbers(corpus).items():
            writer.writerows((coco_name(number), text) for text in corpus.texts_by_image[image])


def results(place: Path, name: str) -> None:
    """What a captioner wrote: some other caption of each image."""
    corpus = drawn(place)
    ids = numbers(corpus)
    rows = [{"image_id": ids[i], "caption": texts[1]} for i, texts in corpus.texts_by_image.items()]
    (place / name).write_text(json.dumps(rows))


def world_corpus(place: Path, name: str, part: str = "test") -> None:
    """A corpus of the toolkit's own form."""
    ta.world(place / name, scenes=SCENES, seed=5, part=part)


def built(place: Path, name: str, *, what: str = "bison") -> None:
    """A benchmark."""
    options = ta.BuildOptions(verifier="" if what in ("bivlc", "negatives") else "oracle")
    if what == "negatives":
        options = ta.NegativesOptions(unfiltered=True)
    ta.build(what, drawn(place), place / name, options)


def runs(place: Path, name: str, *, of: Sequence[str] = ("bison", "foil")) -> None:
    """Runs of two models on two benchmarks."""
    for what in of:
        if not (place / ".made" / what).exists():
            built(place, f".made/{what}", what=what)
        ta.evaluate(["storybook", "chance"], place / ".made" / what, place / name)


def scores(place: Path, name: str) -> None:
    """A table of scores of all cells of `my-test` or `my-bison`, whichever is there."""
    bench = next(place / one for one in ("my-test", "my-bison") if (place / one).exists())
    with (place / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("item", "image", "caption", "score"))
        for item in ta.load_benchmark(bench).items:
            for i in range(len(item.images)):
                writer.writerows(
                    (item.id, i, j, (7 * i + 3 * j) % 5) for j in range(len(item.captions))
                )


def study(place: Path, name: str) -> None:
    """A study that simulated people have been through."""
    if not (place / ".made" / "bison").exists():
        built(place, ".made/bison")
    ta.create_study(
        place / ".made" / "bison", place / name, ta.CreateStudyOptions(ask="which-image")
    )
    ta.simulate_study(place / name)


MAKERS: dict[str, Callable[[Path, str], None]] = {
    **dict.fromkeys(("photos", "val2014", "val2017"), folder_of_pictures),
    **dict.fromkeys(("my-photos",), captioned_folder),
    **dict.fromkeys(
        ("captions.json", "captions_val2014.json", "captions_val2017.json", "my-captions.json"),
        coco_captions,
    ),
    **dict.fromkeys(("captions.csv",), table),
    **dict.fromkeys(("mine.json", "other.json", "updown.json", "attention.json"), results),
    **dict.fromkeys(("my-world", "my-corpus", "test-corpus"), world_corpus),
    **dict.fromkeys(("train-corpus",), partial(world_corpus, part="train")),
    **dict.fromkeys(("my-bison", "my-benchmark", "BENCH", "my-test", "bison"), built),
    **dict.fromkeys(("my-training-set",), partial(built, what="mcic")),
    **dict.fromkeys(("my-mcic",), partial(built, what="mcic")),
    **dict.fromkeys(("my-foil", "my-foils"), partial(built, what="foil")),
    **dict.fromkeys(("my-negatives", "NEGATIVES"), partial(built, what="negatives")),
    **dict.fromkeys(("runs",), runs),
    **dict.fromkeys(("scores.csv",), scores),
    **dict.fromkeys(("my-study",), study),
}
"""A name on a page, and who makes it."""
