"""An exhibit: a figure or an analysis of a paper, with how ours is made and in what it departs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from tellapart.analyses.analysis import Analysis
from tellapart.errors import TellapartError
from tellapart.options import Help
from tellapart.types import Progress, silent


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperSources:
    """What a paper's exhibits are made of; those that lack theirs are named and left out."""

    runs: Annotated[
        tuple[str, ...], Help("Runs, or folders of runs; may be repeated.", repeat=True)
    ] = ()
    benchmark: Annotated[
        tuple[str, ...], Help("The paper's benchmark, or its parts; may be repeated.", repeat=True)
    ] = ()
    before: Annotated[str, Help("BiVLC: the benchmark that it was made of.")] = ""
    captions: Annotated[
        tuple[str, ...], Help("Captioners' results files; may be repeated.", repeat=True)
    ] = ()
    references: Annotated[str, Help("What people wrote of the images: any corpus.")] = ""
    retrieval: Annotated[
        tuple[str, ...], Help("Files of retrieve --json; may be repeated.", repeat=True)
    ] = ()
    queries: Annotated[str, Help("What retrieve --per-query wrote.")] = ""
    judgements: Annotated[str, Help("Judgements of the study of its errors.")] = ""
    ratings: Annotated[
        tuple[str, ...], Help("Ratings of captions by people; may be repeated.", repeat=True)
    ] = ()
    study: Annotated[
        tuple[str, ...], Help("Folders that study export wrote; may be repeated.", repeat=True)
    ] = ()
    vectors: Annotated[str, Help("Vectors of words, for a regression of foils.")] = ""
    scores: Annotated[
        str, Help("A table of systems' further scores (recall, another benchmark), to rank by.")
    ] = ""
    settings: Annotated[str, Help("MCIC: a table of runs' settings and further scores.")] = ""

    def has(self, name: str) -> bool:
        """Whether something was given."""
        return bool(getattr(self, name))

    def path(self, name: str) -> Path | None:
        """A path, if it was given."""
        value = getattr(self, name)
        return Path(value) if value else None


def joined(given: PaperSources, made: PaperSources) -> PaperSources:
    """What was given, and what was made in the place of what was not."""
    names = [one.name for one in fields(PaperSources)]
    return PaperSources(
        **{name: getattr(given if given.has(name) else made, name) for name in names}
    )


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One figure, table or analysis.

    `published` says what the paper found, `departs` in what ours is another; `needs` are the
    fields of `PaperSources` without which it cannot be made.
    """

    place: str
    title: str
    published: str
    departs: str
    needs: tuple[str, ...]
    make: Callable[[PaperSources, Progress], Analysis]

    def lacks(self, sources: PaperSources) -> list[str]:
        """The flags that would have to be given."""
        return [f"--{name.replace('_', '-')}" for name in self.needs if not sources.has(name)]


@dataclass(frozen=True, slots=True, eq=False)
class ShownExhibit:
    """An exhibit with ours, or why there is none."""

    exhibit: Exhibit
    found: Analysis | None
    why_not: str = ""

    def __str__(self) -> str:
        one = self.exhibit
        head = f"{one.place}: {one.title}\n  published: {one.published}"
        if self.found is None:
            return f"{head}\n  ours: not made: {self.why_not}"
        ours = "\n        ".join(self.found.sentences)
        return f"{head}\n  ours: {ours}\n  departs: {one.departs}"


def shown(exhibit: Exhibit, sources: PaperSources, progress: Progress = silent) -> ShownExhibit:
    """Make an exhibit; what cannot be made says why."""
    lacking = exhibit.lacks(sources)
    if lacking:
        return ShownExhibit(exhibit, None, f"give {', '.join(lacking)}")
    try:
        return ShownExhibit(exhibit, exhibit.make(sources, progress))
    except TellapartError as error:
        return ShownExhibit(exhibit, None, error.what)
