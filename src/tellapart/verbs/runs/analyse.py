"""The verb `analyse`: runs, captions or judgements in; tables, a figure and sentences out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.errors import BadInput
from tellapart.options import Help, Overwrite
from tellapart.types import Progress, silent
from tellapart.verbs import TableFlags, Verb, table_text

if TYPE_CHECKING:
    from tellapart.analyses.analysis import Analysis, AnalysisKind, AnalysisOptions

Out = Annotated[
    Path | str | None,
    Help(
        "Also write a folder: tables as CSV and LaTeX, everything as JSON and text, figure as SVG."
    ),
]
Png = Annotated[bool, Help("With --out: also write the figure as PNG and PDF.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Where and how an analysis is written."""

    out: Path | str | None = None
    png: bool = False
    overwrite: bool = False

    def write(self, found: Analysis) -> None:
        """Write it, if a folder is given."""
        if self.out is not None:
            forms = ("svg", "png", "pdf") if self.png else ("svg",)
            found.write(Path(self.out), forms=forms, overwrite=self.overwrite)


def analyse(
    what: str,
    sources: Any = (),
    options: AnalysisOptions | None = None,
    progress: Progress = silent,
    *,
    out: Path | str | None = None,
    png: bool = False,
    overwrite: bool = False,
) -> Analysis:
    """Analyse runs, captions or judgements: tables, a figure, and a sentence with its interval.

    `what` is one of `ta.list_all("analyses")`; `sources` are its inputs, usually runs; `options`
    are the analysis's own (`RegressionOptions(...)`). With `out`, everything is written to files.
    """
    from tellapart.files import check_free

    function = find_analysis(what).function
    own: type[AnalysisOptions] = type(signature(function).parameters["options"].default)
    if options is not None and not isinstance(options, own):
        raise BadInput(
            f"{type(options).__name__} are not options of this analysis",
            allowed=f"{own.__name__}(...)",
        )
    if out is not None:
        check_free(Path(out), overwrite=overwrite)
    found: Analysis = function(sources, options or own(), progress)
    Written(out=out, png=png, overwrite=overwrite).write(found)
    return found


def find_analysis(name: str) -> AnalysisKind:
    """An analysis by name; the error for an unknown name suggests similar ones."""
    from tellapart.analyses.analysis import AnalysisKind
    from tellapart.registry import analyses

    found = analyses.get(name)
    if not isinstance(found, AnalysisKind):
        raise BadInput(
            f"the analysis {name!r} is not an AnalysisKind",
            where=f"entry point {name} of {analyses.group}",
            allowed="an AnalysisKind(function, example)",
        )
    return found


def analysis_verb(name: str) -> Verb:
    """An analysis as a verb of the command line, with the flags common to all analyses."""
    kind = find_analysis(name)

    @wraps(kind.function)
    def run(*given: Any, out: Any = None, png: bool = False, overwrite: bool = False,
            **more: Any) -> Analysis:  # fmt: skip
        found: Analysis = kind.function(*given, **more)
        Written(out=out, png=png, overwrite=overwrite).write(found)
        return found

    own = list(signature(kind.function).parameters.values())
    shared = [
        Parameter("out", Parameter.KEYWORD_ONLY, annotation=Out, default=None),
        Parameter("png", Parameter.KEYWORD_ONLY, annotation=Png, default=False),
        Parameter("overwrite", Parameter.KEYWORD_ONLY, annotation=Overwrite, default=False),
    ]
    run.__signature__ = signature(kind.function).replace(parameters=[*own, *shared])  # type: ignore[attr-defined]
    return Verb(run, example=kind.example, text=table_text, flags=TableFlags)
