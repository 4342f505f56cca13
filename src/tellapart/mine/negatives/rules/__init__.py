"""Negatives by rules: word lists learned from the corpus, and the rules of each kind."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import accumulate, islice
from typing import Any

from tellapart import seeds
from tellapart.items import no_garbage_collection
from tellapart.mine.agreement import disagreements
from tellapart.mine.negatives import NegativesMethod
from tellapart.mine.negatives.checks import Original, problem_with
from tellapart.mine.negatives.claims import facts_of
from tellapart.mine.negatives.negative import (
    Edit,
    Negative,
    NegativeSet,
    NegativesTask,
    SourceCaption,
    changed,
    read_images,
)
from tellapart.mine.negatives.rules.attributes import (
    add_attribute,
    replace_attribute,
    swap_attribute,
)
from tellapart.mine.negatives.rules.context import (
    CaptionContext,
    WordLists,
    lists_for,
)
from tellapart.mine.negatives.rules.details import attribute_details, object_details
from tellapart.mine.negatives.rules.objects import add_object, replace_object, swap_object
from tellapart.mine.negatives.rules.relations import replace_relation
from tellapart.mine.negatives.rules.shards import CaptionPart, caption_parts, stage_of
from tellapart.seeds import digest
from tellapart.text.english import alike
from tellapart.work.crew import ShardJob
from tellapart.work.shard import ShardResult
from tellapart.work.stages import StagedCrew

Rule = Callable[[CaptionContext], Iterator[Edit]]
RULES: Mapping[str, Rule] = {
    "replace-object": replace_object,
    "replace-attribute": replace_attribute,
    "replace-relation": replace_relation,
    "swap-object": swap_object,
    "swap-attribute": swap_attribute,
    "add-object": object_details,
    "add-attribute": attribute_details,
}
ADDED: Mapping[str, Rule] = {"add-object": add_object, "add-attribute": add_attribute}
"""The add kinds as in SugarCrepe: a caption against itself with a false detail."""
TRUE_AGAINST_FALSE = "true against false"
"""The note of a negative whose original has a detail, too."""
NOTHING = "nothing to change"
"""The reason if no rule applies."""


def make(task: NegativesTask, lists: WordLists | None = None) -> NegativeSet:
    """Negatives by rules, with lists given or learned as the task's options say."""
    lists = lists or lists_for(task)
    if task.crew is not None:
        return _made_by(task.crew, task, lists)
    result = NegativeSet([], about=lists.about)
    ids = task.corpus.captions["id"].to_list()
    done = 0
    with no_garbage_collection():
        for image, captions in read_images(task.corpus, task.parses):
            readings = [(parse, reading) for _, parse, reading in captions]
            facts = facts_of(readings, task.corpus.objects(image), lists.nouns.denotes)
            doubts = disagreements([parse.text for _, parse, _ in captions])
            for (row, parse, reading), doubt in zip(captions, doubts, strict=True):
                source = SourceCaption(ids[row], image, parse.text, parse)
                context = CaptionContext(source, reading, facts, lists, readings=readings)
                _edit(context, doubt, task, result)
            done += len(captions)
            task.progress("negatives", done, len(ids))
    return result


@dataclass(frozen=True, slots=True)
class EditTask:
    """What workers do: the negatives of some images, by word lists of the whole corpus."""

    method: NegativesMethod
    seed: int
    lists: WordLists

    def open(self) -> Callable[[CaptionPart], ShardResult]:
        """The word lists are there."""

        def edit(part: CaptionPart) -> ShardResult:
            made = make(NegativesTask(part.corpus, part.parses, self.method, self.seed), self.lists)
            return ShardResult(json.dumps(made.to_json()).encode())

        return edit


def _made_by(crew: StagedCrew, task: NegativesTask, lists: WordLists) -> NegativeSet:
    """The same by a crew, some images at a time."""
    own = {field.name: getattr(task.method, field.name) for field in fields(NegativesMethod)}
    method = NegativesMethod(**{**own, "cache": None, "lists_from": None, "llm": None})
    result = NegativeSet([], about=lists.about)
    shards = caption_parts(task.corpus, task.parses)
    stage = stage_of("negatives", method, asdict(method), task.seed, digest(lists.counts.to_json()))
    job = ShardJob("negatives", "captions", EditTask(method, task.seed, lists), shards)
    crew.do(stage, job, task.progress)
    for shard in shards:
        result.add_json(json.loads(crew.kept(stage).path(shard.name).read_bytes()))
    return result


def _edit(context: CaptionContext, doubt: str, task: NegativesTask, result: NegativeSet) -> None:
    """All negatives of one caption; for a kind without any, its most frequent reason.

    A caption that may be false itself (`doubt`) has none.
    """
    original: Original | None = None
    rules = RULES if task.details == "both" else {**RULES, **ADDED}
    for kind in task.kinds:
        edits = [] if context.doubts(doubt) else list(rules[kind](context))
        negatives: list[Negative] = []
        if edits:
            original = original or Original.of(context.source.parse)
            order = drawn(edits, task.seed, "negatives", context.source.caption, kind)
            negatives += islice(_sound(context, original, kind, order), task.method.per_caption)
        result.negatives.extend(negatives)
        if not negatives:
            reasons = context.refused
            reason = max(reasons, key=reasons.__getitem__) if reasons else NOTHING
            result.refused[kind, reason] += 1
        context.refused.clear()


def _sound(
    context: CaptionContext, original: Original, kind: str, edits: Iterable[Edit]
) -> Iterator[Negative]:
    """The negatives that edits make of a caption, if they pass the common check."""
    source = context.source
    for edit in edits:
        text, true = changed(source.text, edit.changes), changed(source.text, edit.truth)
        texts = (text, true) if edit.truth else (text,)
        problems = (problem_with(original, alike(one), kind) for one in texts)
        if not context.doubts(next(filter(None, problems), None)):
            notes = {"detail": TRUE_AGAINST_FALSE, "caption": source.text} if edit.truth else {}
            yield Negative(
                source.caption, source.image, kind, true, text, edit.was, edit.now, notes
            )


def drawn(edits: Sequence[Edit], *path: Any) -> Iterator[Edit]:
    """Edits in random order, each drawn from the rest in proportion to its weight."""
    left = list(edits)
    while len(left) > 1:
        reached = list(accumulate(edit.weight for edit in left))
        point = seeds.unit(*path, len(left)) * reached[-1]
        yield left.pop(min(bisect_right(reached, point), len(left) - 1))
    yield from left
