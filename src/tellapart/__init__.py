"""tellapart: can your vision-language model tell them apart?

The verbs of the command line are functions here:

    import tellapart as ta

    corpus = ta.world("world", scenes=200)
    bison = ta.build("bison", corpus, "bison", ta.BuildOptions(verifier="oracle"))
    runs = ta.evaluate(["chance", "oracle"], on=bison, out="runs")
    print(ta.measure(runs))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tellapart._version import __version__

if TYPE_CHECKING:
    from tellapart.audits.audit import AuditOptions, audit
    from tellapart.audits.guesses import guessable
    from tellapart.benchmark.benchmark import Benchmark, load_benchmark
    from tellapart.benchmark.exporting import export
    from tellapart.benchmark.handling import Choice, diff, merge, subset
    from tellapart.benchmark.published.importer import get
    from tellapart.benchmark.published.options import GetOptions
    from tellapart.benchmark.showing import show
    from tellapart.benchmark.validating import validate
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.reader import ReadOptions, read_corpus
    from tellapart.corpus.world.world import world
    from tellapart.demonstration import demo
    from tellapart.errors import TellapartError
    from tellapart.items import Image, Item
    from tellapart.measures.captioning.captions import captions
    from tellapart.measures.captioning.options import CaptionOptions
    from tellapart.measures.comparing import compare
    from tellapart.measures.comparison import Comparison
    from tellapart.measures.estimate import Estimate
    from tellapart.measures.retrieval import RetrievalOptions, retrieve
    from tellapart.measures.scores import Scores, measure
    from tellapart.mine.bison.options import BisonOptions
    from tellapart.mine.bivlc import BivlcOptions
    from tellapart.mine.build import build
    from tellapart.mine.building import BuildOptions
    from tellapart.mine.foil.options import FoilOptions
    from tellapart.mine.mcic.options import McicOptions
    from tellapart.mine.negatives.options import NegativesOptions
    from tellapart.mine.refine import RefineOptions, refine
    from tellapart.reports.report import report
    from tellapart.score.evaluate import EvaluateOptions, evaluate
    from tellapart.score.importing import import_scores
    from tellapart.score.run import Run, load_run

# Loaded when first used, so that `import tellapart` and `tellapart --help` stay quick.
_WHERE = {
    "AuditOptions": "audits.audit",
    "Benchmark": "benchmark.benchmark",
    "BisonOptions": "mine.bison.options",
    "BivlcOptions": "mine.bivlc",
    "BuildOptions": "mine.building",
    "CaptionOptions": "measures.captioning.options",
    "Choice": "benchmark.handling",
    "Comparison": "measures.comparison",
    "Corpus": "corpus.corpus",
    "Estimate": "measures.estimate",
    "EvaluateOptions": "score.evaluate",
    "FoilOptions": "mine.foil.options",
    "GetOptions": "benchmark.published.options",
    "Image": "items",
    "Item": "items",
    "McicOptions": "mine.mcic.options",
    "NegativesOptions": "mine.negatives.options",
    "ReadOptions": "corpus.reader",
    "RefineOptions": "mine.refine",
    "RetrievalOptions": "measures.retrieval",
    "Run": "score.run",
    "Scores": "measures.scores",
    "TellapartError": "errors",
    "audit": "audits.audit",
    "build": "mine.build",
    "captions": "measures.captioning.captions",
    "compare": "measures.comparing",
    "demo": "demonstration",
    "diff": "benchmark.handling",
    "evaluate": "score.evaluate",
    "export": "benchmark.exporting",
    "get": "benchmark.published.importer",
    "guessable": "audits.guesses",
    "import_scores": "score.importing",
    "load_benchmark": "benchmark.benchmark",
    "load_run": "score.run",
    "measure": "measures.scores",
    "merge": "benchmark.handling",
    "read_corpus": "corpus.reader",
    "refine": "mine.refine",
    "report": "reports.report",
    "retrieve": "measures.retrieval",
    "show": "benchmark.showing",
    "subset": "benchmark.handling",
    "validate": "benchmark.validating",
    "world": "corpus.world.world",
}

__all__ = [
    "AuditOptions",
    "Benchmark",
    "BisonOptions",
    "BivlcOptions",
    "BuildOptions",
    "CaptionOptions",
    "Choice",
    "Comparison",
    "Corpus",
    "Estimate",
    "EvaluateOptions",
    "FoilOptions",
    "GetOptions",
    "Image",
    "Item",
    "McicOptions",
    "NegativesOptions",
    "ReadOptions",
    "RefineOptions",
    "RetrievalOptions",
    "Run",
    "Scores",
    "TellapartError",
    "__version__",
    "audit",
    "build",
    "captions",
    "compare",
    "demo",
    "diff",
    "evaluate",
    "export",
    "get",
    "guessable",
    "import_scores",
    "load_benchmark",
    "load_run",
    "measure",
    "merge",
    "read_corpus",
    "refine",
    "report",
    "retrieve",
    "show",
    "subset",
    "validate",
    "world",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"tellapart.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'tellapart' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
