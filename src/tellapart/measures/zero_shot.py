"""Zero-shot classification: pictures in a folder for each class, named by texts alone.

A class vector is the mean of the unit vectors of its name in several templates, scaled to unit
length again (Radford et al. 2021, section 3.1.4; open_clip computes it likewise). A picture's class
is the one with the highest cosine. Intervals resample pictures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tellapart import seeds
from tellapart.errors import BadInput
from tellapart.files import read_text
from tellapart.items import Image
from tellapart.models.model import DualEncoder
from tellapart.pictures import Picture
from tellapart.stats.intervals import mean_interval
from tellapart.types import Bools, Floats32, Ints, Progress, silent

PICTURE_ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
NAMES = "classes.txt"
"""A file in the folder that names the classes: FOLDER, a tab, the name."""
SIMPLE = (
    "a photo of a {}.",
    "a picture of the {}.",
    "a large {} in a photo.",
    "a small {} in a photo.",
    "a blurred photo of a {}.",
    "a drawing of a {}.",
    "a {} seen from near.",
)
FULL = (
    *SIMPLE,
    "a photo of one {}.",
    "a photo of many {}.",
    "a photo of my {}.",
    "a good photo of a {}.",
    "a bad photo of a {}.",
    "a dark photo of the {}.",
    "a bright photo of the {}.",
    "a photo of a clean {}.",
    "a photo of a dirty {}.",
    "a black and white photo of a {}.",
    "a cropped photo of the {}.",
    "a close-up of a {}.",
    "a {} from far away.",
    "a photo of a {} that is partly hidden.",
    "a painting of a {}.",
    "a sketch of the {}.",
    "a toy {}.",
    "a plastic {}.",
    "a {} in a video game.",
    "a cartoon of a {}.",
    "there is a {} here.",
    "this is a {}.",
    "a photo of a {} that I like.",
    "a low-resolution photo of the {}.",
)
TEMPLATES = {"one": ("a photo of a {}.",), "simple": SIMPLE, "full": FULL}
BATCH = 64


@dataclass(frozen=True, eq=False)
class ClassFolder:
    """Pictures with their classes; `owner` is each picture's class."""

    root: Path
    classes: tuple[str, ...]
    pictures: tuple[Picture, ...]
    owner: Ints

    @property
    def name(self) -> str:
        """The folder's."""
        return self.root.name


def read_classes(root: Path) -> ClassFolder:
    """A folder whose subfolders are classes; underscores in a name become spaces."""
    shape = "a folder with a subfolder of pictures for each of two classes or more"
    if not root.is_dir():
        raise BadInput(
            f"there is no folder {root.name}", where=str(root), allowed=shape, todo="check the path"
        )
    folders = sorted(one for one in root.iterdir() if one.is_dir())
    told = {}
    if (root / NAMES).is_file():
        lines = (line.split("\t") for line in read_text(root / NAMES).splitlines() if line.strip())
        told = {line[0]: line[-1].strip() for line in lines}
    pictures: list[Picture] = []
    owner: list[int] = []
    for number, folder in enumerate(folders):
        files = sorted(f for f in folder.iterdir() if f.suffix.lower() in PICTURE_ENDINGS)
        for file in files:
            uri = file.relative_to(root).as_posix()
            pictures.append(Picture(Image(uri, uri), root))
            owner.append(number)
    if len(folders) < 2 or not pictures:
        raise BadInput(
            f"{root.name} is not a folder of classes: {len(folders)} folders, "
            f"{len(pictures)} pictures",
            where=str(root),
            allowed=shape,
        )
    names = tuple(told.get(one.name, one.name.replace("_", " ")) for one in folders)
    return ClassFolder(root, names, tuple(pictures), np.array(owner))


def templates_of(text: str) -> tuple[str, ...]:
    """Templates by name, from a file with one per line, or a single template as text."""
    if text in TEMPLATES:
        return TEMPLATES[text]
    found: tuple[str, ...] = (text,)
    if Path(text).is_file():
        found = tuple(line for line in read_text(Path(text)).splitlines() if line.strip())
    wrong = [one for one in found if one.count("{}") != 1]
    if wrong or not found:
        raise BadInput(
            f"{wrong[0] if wrong else text!r} is not a template",
            allowed=f"{', '.join(TEMPLATES)}, a file of templates, or text with one {{}} in it",
        )
    return found


@dataclass(frozen=True, eq=False)
class ZeroShot:
    """Which pictures got their class right: `first` and `five` say so for each picture."""

    model: str
    folder: str
    classes: int
    templates: int
    owner: Ints
    first: Bools
    five: Bools

    def figures(self) -> dict[str, tuple[float, float, float]]:
        """Top 1, top 5 (if there are more than five classes) and the mean over classes.

        Each has its interval, in percent.
        """
        wanted: dict[str, Any] = {"top-1": self.first}
        if self.classes > 5:
            wanted["top-5"] = self.five
        found = {}
        for name, right in wanted.items():
            rng = seeds.rng(0, "zero-shot", name)
            interval = mean_interval(right.astype(float), np.arange(len(right)), rng)
            found[name] = (100 * float(right.mean()), 100 * interval.low, 100 * interval.high)
        return found

    @property
    def by_class(self) -> float:
        """The mean of the classes' own accuracies, in percent."""
        each = [self.first[self.owner == k].mean() for k in np.unique(self.owner)]
        return 100 * float(np.mean(each))

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "model": self.model,
            "on": self.folder,
            "classes": self.classes,
            "pictures": len(self.first),
            "templates": self.templates,
            "chance": 100 / self.classes,
            "mean_of_classes": self.by_class,
            **{
                name: {"value": value, "low": low, "high": high}
                for name, (value, low, high) in self.figures().items()
            },
        }

    def __str__(self) -> str:
        told = ", ".join(
            f"{name} {value:.1f} [{low:.1f}, {high:.1f}]"
            for name, (value, low, high) in self.figures().items()
        )
        return (
            f"{self.model} on {self.folder}: {told}, mean of classes {self.by_class:.1f} "
            f"(chance {100 / self.classes:.1f}; {self.classes} classes, {len(self.first):,} "
            f"pictures, {self.templates} templates)"
        )


def classify(
    model: Any, folder: ClassFolder, templates: Sequence[str], progress: Progress = silent
) -> ZeroShot:
    """Classify every picture of a folder."""
    name = model.facts.name
    if not isinstance(model, DualEncoder):
        raise BadInput(
            f"{name} does not embed pictures and texts", allowed="a dual encoder, such as CLIP"
        )
    rows = np.stack([_class_row(model, one, templates) for one in folder.classes])
    scores = []
    for start in range(0, len(folder.pictures), BATCH):
        some = folder.pictures[start : start + BATCH]
        scores.append(np.asarray(model.embed_images(some), np.float32) @ rows.T)
        progress("zero-shot", min(start + BATCH, len(folder.pictures)), len(folder.pictures))
    grid = np.concatenate(scores)
    right = grid[np.arange(len(grid)), folder.owner]
    above = (grid >= right[:, None]).sum(axis=1)  # counts itself, so a tie is not right
    return ZeroShot(
        name, folder.root.name, len(folder.classes), len(templates), folder.owner, above <= 1,
        above <= 5,
    )  # fmt: skip


def _class_row(model: DualEncoder, name: str, templates: Sequence[str]) -> Floats32:
    texts = [template.replace("{}", name) for template in templates]
    mean = np.asarray(model.embed_texts(texts), np.float32).mean(axis=0)
    row: Floats32 = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return row
