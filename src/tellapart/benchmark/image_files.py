"""A benchmark's picture files: copied beside its items, or found in another folder.

With copies inside, a benchmark's folder can be packed, moved and evaluated anywhere. Without them,
each command can be given the folder of the pictures on this machine.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from tellapart.benchmark.benchmark import Benchmark, save_benchmark, write_benchmark
from tellapart.benchmark.images import ImageTable
from tellapart.corpus.coco import find, listing
from tellapart.errors import BadImage, BadInput
from tellapart.files import whole_folder
from tellapart.items import Image
from tellapart.pictures import crop_box, split_uri

COPIES = "images"
"""The folder of copies inside a benchmark."""

SIGNATURES = {
    b"\x89PNG": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp", b"BM": "bmp",
    b"II*\0": "tif", b"MM\0*": "tif",
}  # fmt: skip
"""First bytes of picture files, and the matching file endings."""


def with_copies(benchmark: Benchmark, folder: Path) -> Benchmark:
    """Copy all pictures into an unfinished folder; returns the benchmark with the new paths.

    Files that are there already are kept. A picture that cannot be read is listed under the name
    it should get, so that it can be added later; the card counts such pictures.
    """
    copies = _Copies(benchmark, folder / COPIES)
    if copies.folder.is_dir():
        copies.inside = {f"{COPIES}/{path.name}" for path in copies.folder.iterdir()}
        copies.taken = {PurePosixPath(path).name.lower() for path in copies.inside}
    images = {image.id: copies.add(image) for image in benchmark.images.values()}
    facts = {"copied": len(images) - copies.missing, "missing": copies.missing}
    card = replace(benchmark.card, made={**benchmark.card.made, "image_copies": facts})
    return Benchmark(card, folder, benchmark.items, ImageTable.of(images))


def save_portable(
    benchmark: Benchmark, out: Path, *, overwrite: bool, copy_images: bool
) -> Benchmark:
    """Write a benchmark completely or not at all, with copies of its pictures if requested."""
    if not copy_images:
        return save_benchmark(benchmark, out, overwrite=overwrite)
    with whole_folder(out, overwrite=overwrite) as partial:
        copied = with_copies(benchmark, partial)
        images = write_benchmark(copied, partial)
    return replace(copied, root=out, images=images)


@dataclass(slots=True)
class _Copies:
    """The files copied so far; two crops of one picture share one file."""

    benchmark: Benchmark
    folder: Path
    missing: int = 0
    names: dict[str, str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    inside: set[str] = field(default_factory=set)

    def add(self, image: Image) -> Image:
        """Copy the image's file into the folder; returns the image with its new path."""
        path, fragment = split_uri(image.uri)
        if path in self.inside:
            return image
        if "://" in path:
            self.missing += 1
            return image
        box = f"#{fragment}" if crop_box(fragment) else ""
        source = image.uri.removesuffix(box)
        try:
            data = self.benchmark.picture(image.id).read()
        except BadImage:
            self.missing += 1
            name = self.names.setdefault(source, self._free(PurePosixPath(path).name, image.id))
            return replace(image, uri=f"{COPIES}/{name}{box}")
        if source not in self.names:
            own = PurePosixPath(path).name if source == path else f"{image.id}.{ending_of(data)}"
            self.names[source] = self._free(own, image.id)
            self.folder.mkdir(exist_ok=True)
            (self.folder / self.names[source]).write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        return replace(image, uri=f"{COPIES}/{self.names[source]}{box}", sha256=sha256)

    def _free(self, name: str, image_id: str) -> str:
        """A unique file name, also on file systems that ignore case."""
        plain = re.sub(r"[^\w. -]+", "-", name).strip(". ") or "image"
        if plain.lower() in self.taken:
            plain = f"{hashlib.sha256(image_id.encode()).hexdigest()[:12]}-{plain}"
        self.taken.add(plain.lower())
        return plain


def ending_of(data: bytes) -> str:
    """The file ending that fits the content of a picture."""
    return next((end for start, end in SIGNATURES.items() if data.startswith(start)), "img")


def pictures_in(benchmark: Benchmark, folder: Path | None) -> Benchmark:
    """The benchmark with its pictures taken from a folder or its subfolders, by their names.

    Pictures that are not found there keep their paths; None changes nothing.
    """
    if folder is None:
        return benchmark
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}", todo="give the folder with the pictures")
    listed = listing(folder)
    given = list(benchmark.images.values())
    images = [_moved(image, folder, listed, benchmark) or image for image in given]
    if not any(new is not old for new, old in zip(images, given, strict=True)):
        example = PurePosixPath(split_uri(given[0].uri)[0]).name
        raise BadInput(
            f"none of the {len(images):,} pictures of {benchmark.name} is in {folder}",
            allowed=f"files with the pictures' own names, such as {example}, or COCO's usual ones; "
            "also in subfolders",
        )
    return replace(benchmark, images=ImageTable.of(images))


def _moved(
    image: Image, folder: Path, listed: dict[str, str], benchmark: Benchmark
) -> Image | None:
    path, fragment = split_uri(image.uri)
    near = "/".join(
        PurePosixPath(path).parts[-2:]
    )  # tells files of the same name in two folders apart
    found = listed.get(near) or find(path, image.id.partition("#")[0], listed)
    if found is None:
        return None
    uri = Path(os.path.relpath(folder / found, benchmark.root)).as_posix()
    return replace(image, uri=f"{uri}#{fragment}" if fragment else uri)
