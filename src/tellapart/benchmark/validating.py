"""The verb `validate`: is a benchmark whole, and can it be run here?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tellapart.benchmark.benchmark import Benchmark, load_benchmark
from tellapart.errors import BadImage, BadInput
from tellapart.items import check_item, content_of


@dataclass(frozen=True, slots=True)
class Verdict:
    """What `validate` found: problems that must be mended, and remarks to know of."""

    benchmark: str
    items: int
    images: int
    problems: tuple[BadInput, ...]
    remarks: tuple[str, ...]

    @property
    def good(self) -> bool:
        """Nothing must be mended."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{self.benchmark}: {self.items:,} items, {self.images:,} images"]
        lines += [f"remark: {remark}" for remark in self.remarks]
        lines += [f"problem: {problem}" for problem in self.problems]
        lines += ["good" if self.good else f"{len(self.problems):,} problems"]
        return "\n".join(lines)


def validate(
    where: Benchmark | Path | str,
    *,
    images: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Verdict:
    """Check items, hashes and groups, and (unless `images` is False) open every picture."""
    benchmark = where if isinstance(where, Benchmark) else load_benchmark(where)
    problems = [*_item_problems(benchmark)]
    if images:
        problems += _image_problems(benchmark, progress)
    return Verdict(
        benchmark.name,
        len(benchmark.items),
        len(benchmark.images),
        tuple(problems),
        tuple(_remarks(benchmark)),
    )


def _item_problems(benchmark: Benchmark) -> list[BadInput]:
    found: list[BadInput] = []
    named = benchmark.items.image_groups()
    for item, group in zip(benchmark.items, named, strict=True):
        try:
            check_item(item)
            if content_of(item) != item.content:
                raise BadInput(
                    f"item {item.id} was changed after it was made",
                    allowed="items as they were built or imported",
                    todo="build or import the benchmark again",
                )
            if item.group != group:
                raise BadInput(
                    f"item {item.id} is in group {item.group!r}, its images connect it to {group!r}"
                )
            for image in item.images:
                if image not in benchmark.images:
                    raise BadInput(f"item {item.id} uses image {image}, which is not listed")
        except BadInput as problem:
            found.append(problem)
    for item_id, times in Counter(item.id for item in benchmark.items).items():
        if times > 1:
            found.append(BadInput(f"the item id {item_id!r} is there {times} times"))
    return found


def _image_problems(benchmark: Benchmark, progress: Callable[[int, int], None]) -> list[BadInput]:
    found: list[BadInput] = []
    for done, image in enumerate(benchmark.images.values(), 1):
        picture = benchmark.picture(image.id)
        try:
            picture.open()
            if image.sha256 and picture.stored_sha256() != image.sha256:
                found.append(
                    BadInput(
                        f"image {image.id} is not the file that the benchmark was made with",
                        where=str(picture.path),
                        allowed=f"sha256 {image.sha256}",
                        todo="fetch the original file, or build the benchmark again",
                    )
                )
        except BadImage as problem:
            found.append(problem)
        progress(done, len(benchmark.images))
    return found


def _remarks(benchmark: Benchmark) -> list[str]:
    remarks = []
    contents = Counter(item.content for item in benchmark.items)
    doubles = sum(times - 1 for times in contents.values())
    if doubles:
        remarks.append(f"{doubles:,} items ask the same as another one")
    if not benchmark.card.verified:
        remarks.append("nobody verified these items")
    if benchmark.card.skipped:
        remarks.append(f"{len(benchmark.card.skipped):,} bad rows were left out when it was made")
    return remarks
