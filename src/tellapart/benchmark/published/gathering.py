"""Gathering what a source holds: rows with their problems, images with their files, items."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tellapart import seeds
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.corpus.coco import coco_id, find, listing
from tellapart.corpus.reader import ReadOptions, picture_folder
from tellapart.errors import BadInput, Problems
from tellapart.items import Cell, Image, Item, Origin, Slot, check_item

ENDINGS = (".png", ".jpg", ".jpeg", ".webp")
"""What a picture's name may end in where the source leaves its ending off."""


class Gathering:
    """Collects the items and images of one import; what is wrong is noted with its row."""

    def __init__(self, name: str, files: Sequence[Path], options: GetOptions) -> None:
        self.name, self.options = name, options
        self.problems = Problems(skip=options.skip_bad)
        self.root = self._folder(files[0])
        self._items: list[Item] = []
        self._images: dict[str, Image] = {}
        self._found: set[str] = set()
        self._ids: set[str] = set()
        self._listings: dict[Path, dict[str, str]] = {}

    @contextlib.contextmanager
    def row(self, where: str) -> Iterator[None]:
        """A row that is left out, and noted, where something in it is wrong."""
        try:
            yield
        except BadInput as problem:
            problem.where = where
            self.problems.add(problem)

    def done(self, facts: Mapping[str, Any] | None = None, verified: str = "") -> Imported:
        """All that was gathered."""
        return Imported(
            items=tuple(self._items),
            images=self._images,
            root=self.root,
            found=frozenset(self._found),
            problems=self.problems,
            facts=facts or {},
            verified=verified,
        )

    # images

    def coco(self, file_name: str, file: Path) -> str:
        """The id of an image that may be COCO's, and then has the id that it has everywhere."""
        return self.image(file_name, file, coco_id(file_name) or file_name)

    def image(self, file_name: str, file: Path, image_id: str = "", crop: str = "") -> str:
        """The id of an image that `file` names; its picture is looked for, once.

        `crop` is the part of it that is meant, as `left,top,width,height` in pixels.
        """
        part = f"#crop={crop}" if crop else ""
        image_id = (image_id or file_name) + part
        if image_id not in self._images:
            there = self._find(file_name, image_id.partition("#")[0], self._folder(file))
            if there is not None:
                self._found.add(image_id)
            self._images[image_id] = Image(image_id, (there or file_name) + part)
        return image_id

    def stored(self, sha256: str, file: Path, place: str) -> str:
        """The id of a picture whose bytes are in a table; `place` says in which column and row."""
        image_id = sha256[:16]
        if image_id not in self._images:
            uri = f"{self._relative(file)}#{place}"
            self._images[image_id] = Image(image_id, uri, sha256)
            self._found.add(image_id)
        return image_id

    def _folder(self, file: Path) -> Path:
        return picture_folder(file, ReadOptions(images=self.options.images))

    def _find(self, file_name: str, image_id: str, folder: Path) -> str | None:
        if "://" in file_name:
            return None
        if folder not in self._listings:
            self._listings[folder] = listing(folder)
        there = find(file_name, image_id, self._listings[folder])
        if there is None and "." not in file_name.rpartition("/")[2]:
            named = (file_name + ending for ending in ENDINGS)
            there = next((n for n in named if n in self._listings[folder]), None)
            there = there and self._listings[folder][there]
        # os.path, unlike Path, says no to a name that no disk could hold.
        if there is None and "/" in file_name and os.path.isfile(folder / file_name):  # noqa: PTH113
            there = file_name
        return there if there is None or folder == self.root else self._relative(folder / there)

    def _relative(self, path: Path) -> str:
        return Path(os.path.relpath(path, self.root)).as_posix()

    # items

    def order(self, source_id: str, what: str, number: int) -> list[int]:
        """The source's places in the order in which an item has them: shuffled by the seed."""
        if self.options.keep_order:
            return list(range(number))
        seed = self.options.seed
        return sorted(
            range(number), key=lambda k: seeds.number(seed, self.name, what, source_id, k)
        )

    def add(
        self,
        source: Path,
        source_id: str,
        *,
        images: Sequence[str],
        captions: Sequence[str],
        true: set[Cell],
        kind: str,
        notes: Mapping[str, str],
        original: Cell | None = None,
        slot: Slot | None = None,
    ) -> None:
        """One item as it is; raises where it cannot be asked."""
        if len(set(images)) < len(images) or len(set(captions)) < len(captions):
            same = "images" if len(set(images)) < len(images) else "captions"
            raise BadInput(
                f"two {same} of {self.name}:{source_id} are the same",
                allowed=f"{same} that differ, as there is nothing to tell apart otherwise",
            )
        shuffled = "source_order" in notes and not self.options.keep_order
        seed = self.options.seed if shuffled else None
        item = Item.imported(
            self.name,
            source_id,
            images=tuple(images),
            captions=tuple(captions),
            true=frozenset(true),
            kind=kind,
            origin=Origin(f"tellapart get {self.name}", source.name, source_id, seed, dict(notes)),
            original=original,
            slot=slot,
        )
        check_item(item)
        if item.id in self._ids:
            raise BadInput(f"the id {item.id!r} is there twice", allowed="every id once")
        self._ids.add(item.id)
        self._items.append(item)

    def add_choice(
        self,
        source: Path,
        source_id: str,
        image: str,
        captions: Sequence[str],
        right: int,
        *,
        kind: str,
        notes: Mapping[str, str],
        slot: Slot | None = None,
    ) -> None:
        """An image and captions of which one is true (`right` is its place in the source)."""
        order = self.order(source_id, "captions", len(captions))
        cell = (0, order.index(right))
        self.add(
            source,
            source_id,
            images=(image,),
            captions=[captions[k] for k in order],
            true={cell},
            kind=kind,
            notes={**notes, "source_order": " ".join(map(str, order))},
            original=cell,
            slot=slot and replace(slot, caption=order.index(slot.caption)),
        )

    def add_square(
        self,
        source: Path,
        source_id: str,
        images: Sequence[str],
        captions: Sequence[str],
        *,
        kind: str,
        notes: Mapping[str, str],
        original: bool,
    ) -> None:
        """Two images and two captions, each caption true of the image at its place.

        `original` says that the first pair was there before the other was made from it.
        """
        across = self.order(source_id, "images", 2)
        down = self.order(source_id, "captions", 2)
        cells = [(across.index(k), down.index(k)) for k in (0, 1)]
        order = f"images {across[0]} {across[1]}, captions {down[0]} {down[1]}"
        self.add(
            source,
            source_id,
            images=[images[k] for k in across],
            captions=[captions[k] for k in down],
            true=set(cells),
            kind=kind,
            notes={**notes, "source_order": order},
            original=cells[0] if original else None,
        )
