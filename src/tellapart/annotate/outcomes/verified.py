"""The verified benchmark: what people kept, with who agreed on each item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tellapart import seeds
from tellapart.annotate.outcomes.gathering import Gathered, Judged
from tellapart.benchmark.benchmark import Benchmark, Card, make_benchmark, save_benchmark
from tellapart.errors import BadInput
from tellapart.items import Item, Origin

MEASURES = {"pick-caption": ("accuracy",), "best-image": ("Group", "I2T", "T2I")}


def verified(gathered: Gathered, out: Path, *, overwrite: bool = False) -> Benchmark:
    """Write the items that every stage kept.

    Picked captions become BISON items and chosen images BiVLC items; every other question keeps
    the items as they are, where people kept all that was asked of them.
    """
    first = gathered.plan.stages[0]
    make = MAKERS.get(first.ask, _as_they_are)
    items = list(make(gathered))
    if not items:
        raise BadInput(
            "no item is verified yet",
            allowed="at least one that people kept",
            todo="see how far the study is with: tellapart study status",
        )
    before = gathered.benchmark
    people = {one.person for task in gathered.tasks for one in task.said}
    stages = ", ".join(
        f"{stage.ask} ({stage.keep} of {stage.judgements})" for stage in gathered.plan.stages
    )
    card = Card(
        name=before.name,
        about=before.card.about,
        measures=before.card.measures or MEASURES.get(first.ask, ("accuracy",)),
        made={
            **before.card.made,
            "verified_in": gathered.plan.name,
            "verified_from": before.sha256,
            "verified_seed": gathered.plan.seed,
        },
        licence=before.card.licence,
        citation=before.card.citation,
        verified=f"by {len(people)} people: {stages}",
    )
    made = make_benchmark(card, before.root, items, before.images.values())
    return save_benchmark(made, out, overwrite=overwrite)


def _as_they_are(gathered: Gathered) -> Iterator[Item]:
    """Items all of whose tasks were kept."""
    tasks: dict[str, list[Judged]] = defaultdict(list)
    for task in gathered.tasks:
        tasks[task.matter.item].append(task)
    for name, some in tasks.items():
        if all(task.state == "closed" and task.kept for task in some):
            yield _noted(gathered.benchmark.by_id[name], some)


def _bison(gathered: Gathered) -> Iterator[Item]:
    """The caption that was picked for a pair, with the target at a place drawn by the seed."""
    for chain in _chains(gathered):
        picked = chain[0]
        caption = picked.matter.captions[int(picked.chosen or 0)]
        target, decoy = picked.matter.images[:2]
        place = int(seeds.rng(gathered.plan.seed, "verified", target, decoy).integers(2))
        item = Item.built(
            "bison",
            images=(target, decoy) if place == 0 else (decoy, target),
            captions=(caption,),
            true=frozenset({(place, 0)}),
            original=(place, 0),
            kind="bison",
            origin=_origin(gathered, picked),
        )
        yield _noted(item, chain)


def _bivlc(gathered: Gathered) -> Iterator[Item]:
    """The original pair, and the other caption with the image that was chosen for it."""
    for chain in _chains(gathered):
        matter, chosen = chain[0].matter, int(chain[0].chosen or 0)
        if len(matter.captions) != 2:
            continue
        item = Item.built(
            "bivlc",
            images=(matter.images[-1], matter.images[chosen]),
            captions=(matter.captions[1], matter.captions[0]),
            true=frozenset({(0, 0), (1, 1)}),
            original=(0, 0),
            kind=gathered.benchmark.by_id[matter.item].kind,
            origin=_origin(gathered, chain[0]),
        )
        yield _noted(item, chain)


MAKERS: dict[str, Callable[[Gathered], Iterator[Item]]] = {
    "pick-caption": _bison,
    "best-image": _bivlc,
}


def _chains(gathered: Gathered) -> Iterator[list[Judged]]:
    """For each task that the last stage kept, all tasks that led to it, the first one first."""
    for task in gathered.of_stage(gathered.plan.stages[-1].name):
        if task.state == "closed" and task.kept:
            chain = [task]
            while chain[0].parent is not None:
                chain.insert(0, gathered.by_id[chain[0].parent])
            yield chain


def _origin(gathered: Gathered, task: Judged) -> Origin:
    name = gathered.plan.name
    return Origin("tellapart study export", name, task.matter.item, gathered.plan.seed)


def _noted(item: Item, tasks: list[Judged]) -> Item:
    """With who said what: codes of people, stage by stage."""
    notes = dict(item.origin.notes)
    for task in tasks:
        agreed = [one.person for one in task.said if one.choice == task.chosen or task.right(one)]
        name = f"{task.stage} {task.matter.question}"
        notes[name] = f"{len(agreed)} of {len(task.said)}: {' '.join(agreed)}"
    return replace(item, origin=replace(item.origin, notes=notes))
