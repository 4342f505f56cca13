"""The verb `show`: a benchmark's card and some of its items, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.options import Help, Seed
from tellapart.verbs import BenchmarkSource, Verb, open_benchmark

if TYPE_CHECKING:
    from tellapart.items import Item

CARD_LINES = ("about", "version", "verified", "licence", "citation", "items_sha256", "canary")


@dataclass(frozen=True, slots=True)
class Showing:
    """The card and a few items; prints itself."""

    card: dict[str, Any]
    items: tuple[Item, ...]

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
        for item in self.items:
            lines += ["", *item_lines(item)]
        return "\n".join(lines)


def show(
    benchmark: BenchmarkSource,
    *,
    items: Annotated[int, Help("How many items to print.")] = 3,
    seed: Seed = 0,
) -> Showing:
    """Print a benchmark's card and some of its items."""
    from tellapart import seeds
    from tellapart.benchmark.benchmark import card_json

    whole = open_benchmark(benchmark)
    number = min(items, len(whole.items))
    chosen = seeds.rng(seed, "show").choice(len(whole.items), size=number, replace=False)
    return Showing(card_json(whole), tuple(whole.items[int(k)] for k in sorted(chosen)))


def item_lines(item: Item) -> list[str]:
    """An item in words: what it shows, what is true, what can be asked."""
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


VERB = Verb(show, example="tellapart show my-bison --items 5")
