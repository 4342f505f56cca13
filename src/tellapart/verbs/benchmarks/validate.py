"""The verb `validate`: is a benchmark intact, and can it be run here?"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadImage, BadInput
from tellapart.options import Help
from tellapart.types import Progress, silent
from tellapart.verbs import BenchmarkSource, Verb, open_benchmark

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark


NAMED = re.compile(r"\b(item|image|group|id) ('[^']*'|\S+)|\b\d+\b")
"""The parts of a message in which two problems of the same sort differ."""
SHOWN = 3
"""How many problems of each sort are shown."""


@dataclass(frozen=True, slots=True)
class ProblemSort:
    """Problems that differ only in the item they concern: how many, and the first few."""

    times: int
    examples: tuple[str, ...]
    todo: str

    def __str__(self) -> str:
        if self.times == 1:
            lines = [f"problem: {self.examples[0]}"]
        else:
            lines = [f"problem, {self.times:,} times:"]
            lines += [f"  {example}" for example in self.examples]
        if self.times > len(self.examples):
            lines.append(f"  ... and {self.times - len(self.examples):,} more")
        return "\n".join([*lines, f"  to do:   {self.todo}"] if self.todo else lines)


def sorted_problems(problems: Sequence[BadInput]) -> tuple[ProblemSort, ...]:
    """Problems grouped by message, the most frequent first."""
    alike: dict[str, list[BadInput]] = {}
    for problem in problems:
        alike.setdefault(NAMED.sub(r"\1 ...", problem.what), []).append(problem)
    ordered = sorted(alike.values(), key=lambda some: -len(some))
    return tuple(ProblemSort(len(s), tuple(map(_line, s[:SHOWN])), s[0].todo) for s in ordered)


def _line(problem: BadInput) -> str:
    where = f" ({problem.where})" if problem.where else ""
    allowed = f"; allowed: {problem.allowed}" if problem.allowed else ""
    return f"{problem.what}{where}{allowed}"


@dataclass(frozen=True, slots=True)
class Validation:
    """The findings of `validate`: problems that must be fixed, and remarks."""

    benchmark: str
    items: int
    images: int
    problems: tuple[BadInput, ...]
    remarks: tuple[str, ...]

    @property
    def sorts(self) -> tuple[ProblemSort, ...]:
        """The problems, grouped."""
        return sorted_problems(self.problems)

    @property
    def good(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "benchmark": self.benchmark,
            "good": self.good,
            "items": self.items,
            "images": self.images,
            "sorts_of_problem": [asdict(sort) for sort in self.sorts],
            "problems": [problem.parts() for problem in self.problems],
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        lines = [f"{self.benchmark}: {self.items:,} items, {self.images:,} images"]
        lines += [f"remark: {remark}" for remark in self.remarks]
        lines += map(str, self.sorts)
        several = f" of {len(self.sorts)} sorts" if len(self.sorts) > 1 else ""
        lines += ["good" if self.good else f"{len(self.problems):,} problems{several}"]
        return "\n".join(lines)


def validate(
    benchmark: BenchmarkSource,
    *,
    look: Annotated[bool, Help("Also open every picture.", alias=" /--no-images")] = True,
    images: Annotated[Path | None, Help("Folder with the pictures, if they have moved.")] = None,
    fair: Annotated[
        float | None,
        Help("Fail if the text alone is significantly more than this many points above chance."),
    ] = None,
    progress: Progress = silent,
) -> Validation:
    """Check that a benchmark is intact and that its pictures can be read."""
    from tellapart.benchmark.image_files import pictures_in

    whole = pictures_in(open_benchmark(benchmark), images)
    problems = _item_problems(whole)
    if look:
        problems += _image_problems(whole, progress)
    remarks = _remarks(whole)
    if fair is not None:
        unfair, notes = _unfair(whole, fair, progress)
        problems += unfair
        remarks += notes
    return Validation(
        whole.name, len(whole.items), len(whole.images), tuple(problems), tuple(remarks)
    )


def _unfair(
    benchmark: Benchmark, points: float, progress: Progress
) -> tuple[list[BadInput], list[str]]:
    """Problems and remarks if attackers exceed the allowed accuracy without looking."""
    from tellapart.attack.text_alone import text_alone

    if not 0 <= points < 100:
        raise BadInput(
            f"--fair {points:g} is not a distance from chance", allowed="0 to 100 points"
        )
    known = text_alone(benchmark, progress=progress)
    if known is None:
        return [], [
            "fair: no question asks for a caption, or there are too few items to learn from"
        ]
    bar = points / 100
    kinds = [hit.kind for hit in known.kinds if hit.low > hit.chance + bar]
    remarks = [str(known)]
    if kinds:
        remarks.append(f"more than {points:g} points above chance by kind: {', '.join(kinds)}")
    if known.overall.low <= known.overall.chance + bar:
        return [], remarks
    problem = BadInput(
        f"{benchmark.name} can be guessed from the text alone: {known}",
        allowed=f"a lower end of the interval at most {points:g} points above chance",
        todo="keep a fair part of it: tellapart refine BENCH OUT",
    )
    return [problem], remarks


def _item_problems(benchmark: Benchmark) -> list[BadInput]:
    """At most one problem per item, in item order; then duplicate ids."""
    items = benchmark.items
    problems = dict(items.faulty())

    def note(wrong: Any, problem: Callable[[int], BadInput]) -> None:
        for place in wrong.arg_true():
            problems.setdefault(place, problem(place))

    contents, groups = items.frame["content"], items.frame["group"]
    note(
        items.contents() != contents,
        lambda place: BadInput(
            f"item {items.ids[place]} was changed after it was built",
            allowed="items as they were built or imported",
            todo="build or import the benchmark again",
        ),
    )
    connected = items.connected_groups()
    note(
        connected != groups,
        lambda place: BadInput(
            f"item {items.ids[place]} is in group {groups[place]!r}, but "
            f"its images and captions connect it to {connected[place]!r}"
        ),
    )
    for place, image in items.unlisted(benchmark.images.ids).items():
        missing = BadInput(f"item {items.ids[place]} uses image {image}, which is not listed")
        problems.setdefault(place, missing)
    again = items.ids.value_counts(sort=True)
    recurring = [
        BadInput(f"the item id {name!r} occurs {times} times")
        for name, times in again.iter_rows()
        if times > 1
    ]
    return [problems[place] for place in sorted(problems)] + recurring


def _image_problems(benchmark: Benchmark, progress: Progress) -> list[BadInput]:
    problems: list[BadInput] = []
    for done, image_id in enumerate(benchmark.images, 1):
        picture = benchmark.picture(image_id)
        image = picture.image
        try:
            picture.open()
            if image.sha256 and picture.stored_sha256() != image.sha256:
                problems.append(
                    BadInput(
                        f"image {image.id} is not the file that the benchmark was built with",
                        where=str(picture.path),
                        allowed=f"sha256 {image.sha256}",
                        todo="fetch the original file, or build the benchmark again",
                    )
                )
        except BadImage as problem:
            problems.append(problem)
        progress("opening pictures", done, len(benchmark.images))
    return problems


def _remarks(benchmark: Benchmark) -> list[str]:
    remarks = []
    doubles = len(benchmark.items) - benchmark.items.frame["content"].n_unique()
    if doubles:
        remarks.append(f"{doubles:,} items duplicate another one")
    if not benchmark.card.verified:
        remarks.append("these items are not verified")
    if benchmark.card.skipped:
        remarks.append(f"{len(benchmark.card.skipped):,} bad rows were skipped when it was built")
    return remarks


VERB = Verb(
    validate,
    example="tellapart validate my-bison",
    code=lambda validation: 0 if validation.good else 1,
)
