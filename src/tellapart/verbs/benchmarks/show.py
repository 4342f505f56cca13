"""The verb `show`: a benchmark's card and some of its items, as text or as a page."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.options import Help, Seed
from tellapart.verbs import BenchmarkSource, Verb, open_benchmark

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.items import Item

PRINTED, ON_PAGE = 3, 24
"""How many items are shown unless a number is given."""

CARD_LINES = ("about", "version", "verified", "licence", "citation", "items_sha256", "canary")


@dataclass(frozen=True, slots=True)
class Showing:
    """The card and a few items; prints itself. `page` is the file with the items' pictures."""

    card: dict[str, Any]
    items: tuple[Item, ...]
    page: Path | None = None
    text_alone: str = ""

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"card": self.card, "items": [item_json(item) for item in self.items]}

    def __str__(self) -> str:
        counts = dict(self.card["counts"])
        kinds = counts.pop("kinds")
        lines = [self.card["name"]]
        lines += [f"  {name}: {self.card[name]}" for name in CARD_LINES if self.card[name]]
        lines += ["  " + ", ".join(f"{number:,} {what}" for what, number in counts.items())]
        lines += ["  kinds: " + ", ".join(f"{kind} {n:,}" for kind, n in kinds.items())]
        lines += [f"  measured by: {', '.join(self.card['measures'])}"]
        lines += [f"  {self.text_alone}"] if self.text_alone else []
        if self.page is not None:
            return "\n".join([*lines, f"  {len(self.items):,} items  ->  {self.page}"])
        for item in self.items:
            lines += ["", *item_lines(item)]
        return "\n".join(lines)


def show(
    benchmark: BenchmarkSource,
    *,
    items: Annotated[int | None, Help("How many items to show (default: 3, on a page 24).")] = None,
    seed: Seed = 0,
    page: Annotated[
        Path | None, Help("Write an HTML page of items with their pictures to this file.")
    ] = None,
    browse: Annotated[bool, Help("Open such a page in the browser.", flag="--open")] = False,
    images: Annotated[Path | None, Help("Folder with the pictures, if they have moved.")] = None,
) -> Showing:
    """Print a benchmark's card and some of its items."""
    from tellapart import seeds
    from tellapart.attack.text_alone import text_alone
    from tellapart.benchmark.benchmark import card_json
    from tellapart.benchmark.image_files import pictures_in

    whole = pictures_in(open_benchmark(benchmark), images)
    wanted = items if items is not None else ON_PAGE if browse or page else PRINTED
    number = min(wanted, len(whole.items))
    chosen = seeds.rng(seed, "show").choice(len(whole.items), size=number, replace=False)
    shown = tuple(whole.items[int(k)] for k in sorted(chosen))
    alone = str(text_alone(whole, compute=False) or "")
    if not browse and page is None:
        return Showing(card_json(whole), shown, text_alone=alone)
    out = page or Path(tempfile.mkdtemp(prefix="tellapart-")) / "items.html"
    _write_page(whole, shown, out, browse=browse)
    return Showing(card_json(whole), shown, out, alone)


def _write_page(benchmark: Benchmark, items: Sequence[Item], out: Path, *, browse: bool) -> None:
    import webbrowser

    from tellapart.files import write_text
    from tellapart.reports.item_page import item_page

    write_text(out, item_page(benchmark, items))
    if browse:
        webbrowser.open(out.resolve().as_uri())


def item_lines(item: Item) -> list[str]:
    """An item as text: its images and captions, what is true, what can be asked."""
    from tellapart.questions import Ask, questions

    lines = [f"{item.id}  ({item.kind})"]
    lines += [f"  image {i}: {image}" for i, image in enumerate(item.images)]
    for j, caption in enumerate(item.captions):
        fits = [str(i) for i in range(len(item.images)) if (i, j) in item.true]
        truth = f"true of image {', '.join(fits)}" if fits else "false"
        lines.append(f"  caption {j}: {caption}  [{truth}]")
    if item.slot:
        lines.append(f"  foil word: {item.slot.foil}, target: {item.slot.target}")
    asked = ", ".join(question.id for question in questions(item, frozenset(Ask)))
    return [*lines, f"  questions: {asked}"]


def item_json(item: Item) -> dict[str, Any]:
    """An item as plain values."""
    return {
        "id": item.id,
        "kind": item.kind,
        "images": list(item.images),
        "captions": list(item.captions),
        "true_cells": [list(cell) for cell in sorted(item.true)],
    }


VERB = Verb(show, example="tellapart show my-bison --open")
