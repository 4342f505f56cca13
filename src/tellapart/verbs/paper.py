"""The verb `paper`: a page with every table and figure of a paper, ours beside the published."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.analyses.exhibits.exhibit import PaperSources, joined, resolved
from tellapart.options import Help, Seed
from tellapart.types import Progress, silent
from tellapart.verbs import Verb
from tellapart.verbs.table import table

if TYPE_CHECKING:
    from tellapart.analyses.exhibits.exhibit import ShownExhibit
    from tellapart.papers.pairs import PairsTable
    from tellapart.papers.table import PaperTable


@dataclass(frozen=True, slots=True, eq=False)
class PaperPage:
    """A reproduced paper: its tables, its exhibits, and the page.

    `no_tables` says why there are no tables of scores.
    """

    paper: str
    page: Path
    tables: tuple[PaperTable | PairsTable, ...]
    exhibits: tuple[ShownExhibit, ...]
    no_tables: str = ""

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "paper": self.paper,
            "page": str(self.page),
            "exhibits": [
                {
                    "place": one.exhibit.place,
                    "title": one.exhibit.title,
                    "published": one.exhibit.published,
                    "departs": one.exhibit.departs,
                    "not_made": one.why_not,
                    "ours": one.found.to_json() if one.found else None,
                }
                for one in self.exhibits
            ],
        }

    def __str__(self) -> str:
        why_not = [f"tables of scores: {self.no_tables}"] if self.no_tables else []
        blocks = [*why_not, *self.tables, *self.exhibits, f"page  ->  {self.page}"]
        return "\n\n".join(map(str, blocks))


def paper(
    name: Annotated[str, Help("bison, foil, mcic or bivlc.")],
    out: Annotated[Path | str, Help("The HTML file to write.", flag="--out")],
    options: PaperSources = PaperSources(),  # noqa: B008 (frozen)
    progress: Progress = silent,
    *,
    small: Annotated[
        bool,
        Help(
            "Compute everything that is not given: train the paper's systems on the built-in world."
        ),
    ] = False,
    work: Annotated[
        Path | None,
        Help("Working folder of --small, which it resumes from (default: beside the page)."),
    ] = None,
    scenes: Annotated[int, Help("With --small: how many scenes to train on.")] = 400,
    tests: Annotated[int, Help("With --small: how many scenes to test on.")] = 240,
    seed: Seed = 0,
) -> PaperPage:
    """Write a page with every table and figure of a paper: ours beside the published ones.

    They are made from the given runs, captions, judgements and benchmarks; if an input is missing,
    the page says so. Differences from the paper's setup are noted beside each. With --small,
    everything is computed here, offline, in minutes.
    """
    from tellapart.analyses.exhibits.exhibit import shown
    from tellapart.analyses.exhibits.page import paper_page
    from tellapart.analyses.exhibits.papers import exhibits_of
    from tellapart.files import write_text

    here = Path.cwd()
    every = exhibits_of(name)
    page = Path(out).resolve()
    with _working_in(work or page.with_suffix("")) if small else nullcontext():
        if small:
            from tellapart.verbs.small_papers.four_papers import small_sources
            from tellapart.verbs.small_papers.small_paper import SmallPaper

            small_paper = SmallPaper(name, Path(), scenes, tests, seed, progress)
            options = joined(resolved(options, here), small_sources(small_paper))
        tables, no_tables = _tables(name, options, progress)
        exhibits = tuple(shown(one, options, progress) for one in every)
    text = paper_page(name, tables, exhibits, no_tables=no_tables, small=small)
    write_text(page, text)
    return PaperPage(name, Path(out), tables, exhibits, no_tables)


@contextmanager
def _working_in(folder: Path) -> Iterator[None]:
    """Work in a folder, so that paths on the page are relative to it."""
    folder.mkdir(parents=True, exist_ok=True)
    with chdir(folder):
        yield


def _tables(
    name: str, sources: PaperSources, progress: Progress
) -> tuple[tuple[PaperTable | PairsTable, ...], str]:
    """The paper's tables of scores, and why they cannot be made where that is so."""
    from tellapart.errors import TellapartError

    captions = sources.captions if sources.references and name == "bison" else ()
    try:
        found = table(
            name, progress, runs=sources.runs, captions=captions,
            references=sources.references if captions else "", retrieval=sources.retrieval,
        )  # fmt: skip
    except TellapartError as error:
        return (), error.what
    return found.tables, ""


VERB = Verb(paper, example="tellapart paper foil --out foil.html --runs runs/foil --benchmark foil")
