"""An exhibit: a figure or analysis of a paper, how ours is made, and how ours differs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from tellapart.analyses.analysis import Analysis
from tellapart.errors import TellapartError
from tellapart.options import Help
from tellapart.types import Progress, silent


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperSources:
    """The inputs of a paper's exhibits; an exhibit whose inputs are missing is left out by name."""

    runs: Annotated[
        tuple[str, ...], Help("Runs, or folders of runs; may be repeated.", repeat=True)
    ] = ()
    benchmark: Annotated[
        tuple[str, ...], Help("The paper's benchmark, or its parts; may be repeated.", repeat=True)
    ] = ()
    before: Annotated[str, Help("BiVLC: the benchmark it was made from.")] = ""
    captions: Annotated[
        tuple[str, ...], Help("Captioners' results files; may be repeated.", repeat=True)
    ] = ()
    references: Annotated[str, Help("Captions by people: any corpus.")] = ""
    retrieval: Annotated[
        tuple[str, ...], Help("Files of retrieve --json; may be repeated.", repeat=True)
    ] = ()
    queries: Annotated[str, Help("What retrieve --per-query wrote.")] = ""
    judgements: Annotated[str, Help("Judgements from a study of the retrieval errors.")] = ""
    ratings: Annotated[
        tuple[str, ...], Help("Ratings of captions by people; may be repeated.", repeat=True)
    ] = ()
    study: Annotated[
        tuple[str, ...], Help("Folders that study export wrote; may be repeated.", repeat=True)
    ] = ()
    vectors: Annotated[str, Help("Word vectors, for the regression on foils.")] = ""
    scores: Annotated[
        str, Help("A table of further scores to rank systems by (recall, another benchmark).")
    ] = ""
    settings: Annotated[str, Help("MCIC: a table of runs' settings and further scores.")] = ""

    def has(self, name: str) -> bool:
        """Whether this input was given."""
        return bool(getattr(self, name))

    def path(self, name: str) -> Path | None:
        """The input as a path, or None."""
        value = getattr(self, name)
        return Path(value) if value else None


def resolved(given: PaperSources, here: Path) -> PaperSources:
    """The same inputs with absolute paths; names of benchmarks stay as they are."""

    def whole(path: str) -> str:
        return str(here / path) if path and (here / path).exists() else path

    values: dict[str, Any] = {one.name: getattr(given, one.name) for one in fields(PaperSources)}
    for name, value in values.items():
        values[name] = whole(value) if isinstance(value, str) else tuple(map(whole, value))
    return PaperSources(**values)


def joined(given: PaperSources, made: PaperSources) -> PaperSources:
    """The inputs given, with those made here in place of missing ones."""
    names = [one.name for one in fields(PaperSources)]
    return PaperSources(
        **{name: getattr(given if given.has(name) else made, name) for name in names}
    )


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One figure, table or analysis.

    `published` is what the paper found, `departs` how ours differs; `needs` lists the fields of
    `PaperSources` without which it cannot be made.
    """

    place: str
    title: str
    published: str
    departs: str
    needs: tuple[str, ...]
    make: Callable[[PaperSources, Progress], Analysis]

    def lacks(self, sources: PaperSources) -> list[str]:
        """The flags that are missing."""
        return [f"--{name.replace('_', '-')}" for name in self.needs if not sources.has(name)]


@dataclass(frozen=True, slots=True, eq=False)
class ShownExhibit:
    """An exhibit with our version, or the reason why there is none."""

    exhibit: Exhibit
    found: Analysis | None
    why_not: str = ""

    def __str__(self) -> str:
        one = self.exhibit
        head = f"{one.place}: {one.title}\n  published: {one.published}"
        if self.found is None:
            return f"{head}\n  ours: not made: {self.why_not}"
        ours = "\n        ".join(self.found.sentences)
        return f"{head}\n  ours: {ours}\n  differs: {one.departs}"


def shown(exhibit: Exhibit, sources: PaperSources, progress: Progress = silent) -> ShownExhibit:
    """Make an exhibit, or say why it cannot be made."""
    lacking = exhibit.lacks(sources)
    if lacking:
        return ShownExhibit(exhibit, None, f"give {', '.join(lacking)}")
    try:
        return ShownExhibit(exhibit, exhibit.make(sources, progress))
    except TellapartError as error:
        return ShownExhibit(exhibit, None, error.what)
