"""tellapart: can your vision-language model tell them apart?

The verbs of the command line are functions here:

    import tellapart as ta

    corpus = ta.world("world", scenes=200)
    bison = ta.build("bison", corpus, "bison", ta.BuildOptions(verifier="oracle"))
    runs = ta.evaluate(["chance", "oracle"], on=bison, out="runs")
    print(ta.measure(runs))
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tellapart._version import __version__

if TYPE_CHECKING:
    from tellapart.analyses.agreement import AgreementOptions
    from tellapart.analyses.analysis import Analysis
    from tellapart.analyses.by import ByOptions
    from tellapart.analyses.collection_size import CollectionOptions
    from tellapart.analyses.composition import CompositionOptions, DroppedOptions
    from tellapart.analyses.exhibits.exhibit import PaperSources
    from tellapart.analyses.learning import LearningOptions
    from tellapart.analyses.lengths import LengthOptions
    from tellapart.analyses.position import PositionOptions
    from tellapart.analyses.rankings import RankingOptions
    from tellapart.analyses.raters import RaterOptions
    from tellapart.analyses.ratings import RatingOptions
    from tellapart.analyses.recall_errors import RecallErrorOptions
    from tellapart.analyses.references import ReferenceOptions
    from tellapart.analyses.regression import RegressionOptions
    from tellapart.analyses.scores import ScoreOptions
    from tellapart.audits.guesses import guessable
    from tellapart.audits.options import AuditOptions
    from tellapart.benchmark.benchmark import Benchmark, load_benchmark
    from tellapart.benchmark.published.options import GetOptions
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.reader import ReadOptions, read_corpus
    from tellapart.errors import TellapartError
    from tellapart.items import Image, Item
    from tellapart.measures.comparison import Comparison
    from tellapart.measures.options import CaptionOptions, RetrievalOptions
    from tellapart.measures.scores import Estimate, Scores
    from tellapart.reports.options import ReportOptions
    from tellapart.score.run import Run, load_run
    from tellapart.study.effort import Crowd, StudyEffort
    from tellapart.verbs.benchmarks.audit import audit
    from tellapart.verbs.benchmarks.diff import diff
    from tellapart.verbs.benchmarks.export import export
    from tellapart.verbs.benchmarks.get import get
    from tellapart.verbs.benchmarks.merge import merge
    from tellapart.verbs.benchmarks.refine import RefineOptions, refine
    from tellapart.verbs.benchmarks.show import show
    from tellapart.verbs.benchmarks.subset import SubsetOptions, subset
    from tellapart.verbs.benchmarks.validate import validate
    from tellapart.verbs.build import BuildOptions, build
    from tellapart.verbs.build.bison import BisonOptions
    from tellapart.verbs.build.bivlc import BivlcOptions
    from tellapart.verbs.build.foil import FoilOptions
    from tellapart.verbs.build.mcic import McicOptions
    from tellapart.verbs.build.negatives import NegativesOptions
    from tellapart.verbs.build.trohn import TrohnOptions
    from tellapart.verbs.captions import captions
    from tellapart.verbs.corpus import CorpusOptions, gather_corpus
    from tellapart.verbs.demo import demo
    from tellapart.verbs.list_ import list_all
    from tellapart.verbs.neighbours import MinedNeighbours, NeighbourOptions, neighbours
    from tellapart.verbs.paper import paper
    from tellapart.verbs.runs.analyse import analyse
    from tellapart.verbs.runs.compare import compare
    from tellapart.verbs.runs.evaluate import EvaluateOptions, evaluate
    from tellapart.verbs.runs.import_ import import_scores
    from tellapart.verbs.runs.measure import measure, outcomes
    from tellapart.verbs.runs.report import report
    from tellapart.verbs.runs.view import ViewOptions, view
    from tellapart.verbs.study.create import CreateStudyOptions, create_study
    from tellapart.verbs.study.export import export_study
    from tellapart.verbs.study.invite import invite_people
    from tellapart.verbs.study.owner import owner_link
    from tellapart.verbs.study.participants import allow_participants
    from tellapart.verbs.study.people import study_people
    from tellapart.verbs.study.person import change_person
    from tellapart.verbs.study.plan import plan_study
    from tellapart.verbs.study.serve import ServeStudyOptions, serve_study
    from tellapart.verbs.study.simulate import simulate_study
    from tellapart.verbs.study.status import study_status
    from tellapart.verbs.systems.caption import WriteCaptionsOptions, caption
    from tellapart.verbs.systems.cost import cost
    from tellapart.verbs.systems.features import FeatureOptions, features
    from tellapart.verbs.systems.retrieve import retrieve
    from tellapart.verbs.systems.train import TrainOptions, train
    from tellapart.verbs.systems.zeroshot import zeroshot
    from tellapart.verbs.table import table
    from tellapart.verbs.work.send import work_send
    from tellapart.verbs.work.status import work_status
    from tellapart.verbs.world import world

# Loaded on first use, so that `import tellapart` and `tellapart --help` stay fast.
_WHERE = {
    "AgreementOptions": "analyses.agreement",
    "Analysis": "analyses.analysis",
    "AuditOptions": "audits.options",
    "Benchmark": "benchmark.benchmark",
    "BisonOptions": "verbs.build.bison",
    "BivlcOptions": "verbs.build.bivlc",
    "BuildOptions": "verbs.build",
    "ByOptions": "analyses.by",
    "CaptionOptions": "measures.options",
    "CollectionOptions": "analyses.collection_size",
    "Comparison": "measures.comparison",
    "CompositionOptions": "analyses.composition",
    "Corpus": "corpus.corpus",
    "CorpusOptions": "verbs.corpus",
    "CreateStudyOptions": "verbs.study.create",
    "Crowd": "study.effort",
    "DroppedOptions": "analyses.composition",
    "Estimate": "measures.scores",
    "EvaluateOptions": "verbs.runs.evaluate",
    "FeatureOptions": "verbs.systems.features",
    "FoilOptions": "verbs.build.foil",
    "GetOptions": "benchmark.published.options",
    "Image": "items",
    "Item": "items",
    "LearningOptions": "analyses.learning",
    "LengthOptions": "analyses.lengths",
    "McicOptions": "verbs.build.mcic",
    "MinedNeighbours": "verbs.neighbours",
    "NegativesOptions": "verbs.build.negatives",
    "NeighbourOptions": "verbs.neighbours",
    "PaperSources": "analyses.exhibits.exhibit",
    "PositionOptions": "analyses.position",
    "RankingOptions": "analyses.rankings",
    "RaterOptions": "analyses.raters",
    "RatingOptions": "analyses.ratings",
    "ReadOptions": "corpus.reader",
    "RecallErrorOptions": "analyses.recall_errors",
    "ReferenceOptions": "analyses.references",
    "RefineOptions": "verbs.benchmarks.refine",
    "RegressionOptions": "analyses.regression",
    "ReportOptions": "reports.options",
    "RetrievalOptions": "measures.options",
    "Run": "score.run",
    "ScoreOptions": "analyses.scores",
    "Scores": "measures.scores",
    "ServeStudyOptions": "verbs.study.serve",
    "StudyEffort": "study.effort",
    "SubsetOptions": "verbs.benchmarks.subset",
    "TellapartError": "errors",
    "TrainOptions": "verbs.systems.train",
    "TrohnOptions": "verbs.build.trohn",
    "ViewOptions": "verbs.runs.view",
    "WriteCaptionsOptions": "verbs.systems.caption",
    "allow_participants": "verbs.study.participants",
    "analyse": "verbs.runs.analyse",
    "audit": "verbs.benchmarks.audit",
    "build": "verbs.build",
    "caption": "verbs.systems.caption",
    "captions": "verbs.captions",
    "change_person": "verbs.study.person",
    "compare": "verbs.runs.compare",
    "cost": "verbs.systems.cost",
    "create_study": "verbs.study.create",
    "demo": "verbs.demo",
    "diff": "verbs.benchmarks.diff",
    "evaluate": "verbs.runs.evaluate",
    "export": "verbs.benchmarks.export",
    "export_study": "verbs.study.export",
    "features": "verbs.systems.features",
    "gather_corpus": "verbs.corpus",
    "get": "verbs.benchmarks.get",
    "guessable": "audits.guesses",
    "import_scores": "verbs.runs.import_",
    "invite_people": "verbs.study.invite",
    "list_all": "verbs.list_",
    "load_benchmark": "benchmark.benchmark",
    "load_run": "score.run",
    "measure": "verbs.runs.measure",
    "merge": "verbs.benchmarks.merge",
    "neighbours": "verbs.neighbours",
    "outcomes": "verbs.runs.measure",
    "owner_link": "verbs.study.owner",
    "paper": "verbs.paper",
    "plan_study": "verbs.study.plan",
    "read_corpus": "corpus.reader",
    "refine": "verbs.benchmarks.refine",
    "report": "verbs.runs.report",
    "retrieve": "verbs.systems.retrieve",
    "serve_study": "verbs.study.serve",
    "show": "verbs.benchmarks.show",
    "simulate_study": "verbs.study.simulate",
    "study_people": "verbs.study.people",
    "study_status": "verbs.study.status",
    "subset": "verbs.benchmarks.subset",
    "table": "verbs.table",
    "train": "verbs.systems.train",
    "validate": "verbs.benchmarks.validate",
    "view": "verbs.runs.view",
    "work_send": "verbs.work.send",
    "work_status": "verbs.work.status",
    "world": "verbs.world",
    "zeroshot": "verbs.systems.zeroshot",
}

__all__ = [
    "AgreementOptions",
    "Analysis",
    "AuditOptions",
    "Benchmark",
    "BisonOptions",
    "BivlcOptions",
    "BuildOptions",
    "ByOptions",
    "CaptionOptions",
    "CollectionOptions",
    "Comparison",
    "CompositionOptions",
    "Corpus",
    "CorpusOptions",
    "CreateStudyOptions",
    "Crowd",
    "DroppedOptions",
    "Estimate",
    "EvaluateOptions",
    "FeatureOptions",
    "FoilOptions",
    "GetOptions",
    "Image",
    "Item",
    "LearningOptions",
    "LengthOptions",
    "McicOptions",
    "MinedNeighbours",
    "NegativesOptions",
    "NeighbourOptions",
    "PaperSources",
    "PositionOptions",
    "RankingOptions",
    "RaterOptions",
    "RatingOptions",
    "ReadOptions",
    "RecallErrorOptions",
    "ReferenceOptions",
    "RefineOptions",
    "RegressionOptions",
    "ReportOptions",
    "RetrievalOptions",
    "Run",
    "ScoreOptions",
    "Scores",
    "ServeStudyOptions",
    "StudyEffort",
    "SubsetOptions",
    "TellapartError",
    "TrainOptions",
    "TrohnOptions",
    "ViewOptions",
    "WriteCaptionsOptions",
    "__version__",
    "allow_participants",
    "analyse",
    "audit",
    "build",
    "caption",
    "captions",
    "change_person",
    "compare",
    "cost",
    "create_study",
    "demo",
    "diff",
    "evaluate",
    "export",
    "export_study",
    "features",
    "gather_corpus",
    "get",
    "guessable",
    "import_scores",
    "invite_people",
    "list_all",
    "load_benchmark",
    "load_run",
    "measure",
    "merge",
    "neighbours",
    "outcomes",
    "owner_link",
    "paper",
    "plan_study",
    "read_corpus",
    "refine",
    "report",
    "retrieve",
    "serve_study",
    "show",
    "simulate_study",
    "study_people",
    "study_status",
    "subset",
    "table",
    "train",
    "validate",
    "view",
    "work_send",
    "work_status",
    "world",
    "zeroshot",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        found = getattr(import_module(f"tellapart.{_WHERE[name]}"), name)
        return found if isinstance(found, type) or not callable(found) else _placed(found)
    raise AttributeError(f"module 'tellapart' has no attribute {name!r}")


@cache
def _placed(function: Any) -> Any:
    """A verb that also takes addresses, such as s3://bucket/bench, for paths."""
    from tellapart.remote import at_places

    return at_places(function)


def __dir__() -> list[str]:
    return sorted(__all__)
