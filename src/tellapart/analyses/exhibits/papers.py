"""The four papers and their exhibits; `tellapart table` makes the tables of scores."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tellapart.analyses.analysis import Analysis
from tellapart.analyses.by import ByOptions, analyse_by
from tellapart.analyses.collection_size import analyse_collection_size
from tellapart.analyses.composition import (
    CompositionOptions,
    analyse_composition,
    analyse_dropped,
)
from tellapart.analyses.exhibits.exhibit import Exhibit, PaperSources
from tellapart.analyses.learning import LearningOptions, analyse_learning
from tellapart.analyses.lengths import LengthOptions, analyse_lengths
from tellapart.analyses.position import analyse_position
from tellapart.analyses.rankings import RankingOptions, analyse_rankings
from tellapart.analyses.raters import analyse_raters
from tellapart.analyses.ratings import RatingOptions, analyse_ratings
from tellapart.analyses.recall_errors import RecallErrorOptions, analyse_recall_errors
from tellapart.analyses.references import ReferenceOptions, analyse_references
from tellapart.analyses.regression import RegressionOptions, analyse_regression
from tellapart.analyses.scores import ScoreOptions, analyse_scores
from tellapart.errors import UnknownName
from tellapart.files import read_table, require_columns
from tellapart.measures.captions.judge import metrics_that_run
from tellapart.measures.scores import read_runs
from tellapart.mine.mcic import PAPER
from tellapart.papers.figures import source_of
from tellapart.score.run import Run
from tellapart.types import Progress

OTHER_DATA = "uses the benchmark and the systems given"
BISON_METRICS = ("BLEU-4", "CIDEr-D", "METEOR", "SPICE", "ROUGE-L")
"""The paper's four metrics (its CIDEr is CIDEr-D), and one that needs no other program."""
METRICS_HERE = (
    "metrics that need a missing program are left out (METEOR needs Java; SPICE needs Java and "
    "the models of Stanford CoreNLP 3.6.0)"
)
Make = Callable[[PaperSources, Progress], Analysis]


def _of(function: Callable[..., Analysis], field: str, **fixed: Any) -> Make:
    """An analysis of one field of the sources; options may be a function of the sources."""

    def make(sources: PaperSources, progress: Progress) -> Analysis:
        options = {
            name: value(sources) if callable(value) else value for name, value in fixed.items()
        }
        given = getattr(sources, field)
        return function(
            given if isinstance(given, str) else list(given), progress=progress, **options
        )

    return make


def _references(sources: PaperSources) -> Path:
    return Path(sources.references)


def _rankings(sources: PaperSources, progress: Progress) -> Analysis:
    """Rankings of systems by runs and by a table; runs of models not in the table stay out."""
    table = Path(sources.scores)
    runs = _listed(sources, table, "system")
    return analyse_rankings(runs, RankingOptions(scores=table), progress)


def _listed(sources: PaperSources, table: Path, column: str) -> list[Run]:
    """The runs of models that a table names, or all runs if it names none of them."""
    named = read_table(table)
    require_columns(named, [column], table)
    wanted = set(named[column].to_list())
    runs = read_runs(list(sources.runs), None)
    return [run for run in runs if run.model in wanted] or runs


def _of_one_captioner(sources: PaperSources, progress: Progress) -> Analysis:
    """The scores of the first captions file against the run of the system that wrote it."""
    captions = Path(sources.captions[0])
    runs = read_runs(list(sources.runs), None)
    own = [run for run in runs if Path(run.model).name == captions.stem] or runs
    options = ScoreOptions(
        captions=captions, references=_references(sources), metrics=metrics_that_run(BISON_METRICS)
    )
    return analyse_scores(own, options, progress)


def _of_fewer_references(sources: PaperSources, progress: Progress) -> Analysis:
    options = ReferenceOptions(
        references=_references(sources), metrics=metrics_that_run(BISON_METRICS)
    )
    return analyse_references([sources.captions[0]], options, progress)


BISON = (
    Exhibit(
        "Table 1", "What the benchmark consists of",
        "54,253 examples, 38,680 images, 45,218 captions", "no difference, if it is the whole set",
        ("benchmark",), _of(analyse_composition, "benchmark"),
    ),
    Exhibit(
        "Figure 4", "Captioning scores by the number of references",
        "UpDown: BLEU-4 34.58 with five references, 10.69 with one; SPICE falls with more",
        f"uses the first captioner given; {METRICS_HERE}",
        ("captions", "references"), _of_fewer_references,
    ),
    Exhibit(
        "Figures 3 and 5", "Correctness and detailedness by captioning score",
        "means 3.266 and 2.203; captioning scores predict correctness little",
        f"uses the ratings given; {METRICS_HERE}",
        ("ratings", "references"),
        _of(analyse_ratings, "ratings", options=lambda s: RatingOptions(
            references=_references(s), metrics=metrics_that_run(BISON_METRICS))),
    ),
    Exhibit(
        "Figure 6", "Lengths and parts of speech of captions", "a figure; no numbers",
        "parts of speech by spaCy, of a sample", ("benchmark", "references"),
        _of(analyse_lengths, "benchmark", options=lambda s: LengthOptions(beside=_references(s))),
    ),
    Exhibit(
        "Figure 7", "Captioning scores of right and wrong answers",
        "the distributions are nearly identical", OTHER_DATA, ("runs", "captions", "references"),
        _of_one_captioner,
    ),
    Exhibit(
        "Figure 9", "Recall by size of the collection", "a figure; recall falls with size",
        "uses the system and the collection given", ("queries",),
        _of(analyse_collection_size, "queries"),
    ),
    Exhibit(
        "section 6.2", "Do BISON and recall rank systems alike?",
        "identically (conference), similarly (journal); Table 3 itself: tau 0.80 and 1.00",
        "uses the systems given", ("runs", "scores"), _rankings,
    ),
    Exhibit(
        "short paper, Table 1", "recall@1 errors that people call right", "211 of 376 (56.1%)",
        "uses the system, the collection and the judgements given", ("queries", "judgements"),
        _of(analyse_recall_errors, "queries",
            options=lambda s: RecallErrorOptions(judgements=Path(s.judgements))),
    ),
)  # fmt: skip

FOIL = (
    Exhibit(
        "Table 1", "What the benchmark consists of",
        "197,788 and 99,480 pairs of captions; 256 and 216 target-foil pairs",
        OTHER_DATA, ("benchmark",),
        _of(analyse_composition, "benchmark", options=CompositionOptions(by="supercategory")),
    ),
    Exhibit(
        "section 5", "What makes a foil hard",
        "similarity, both frequencies and length make it harder; pairs vary much",
        f"{OTHER_DATA}; similarity only with vectors", ("runs",),
        _of(analyse_regression, "runs",
            options=lambda s: RegressionOptions(vectors=s.path("vectors"))),
    ),
    Exhibit(
        "Table 3", "Foils by supercategory", "outdoor 2.80 to accessory 49.53 (LSTM + norm I)",
        OTHER_DATA, ("runs",),
        _of(analyse_by, "runs", options=ByOptions(by="supercategory", measure="T1-foil")),
    ),
    Exhibit(
        "Table 4", "The easiest and hardest pairs", "100 for racket/glove, 0 for drier/scissors",
        f"{OTHER_DATA}; pairs are ordered by shrunk shares", ("runs",),
        _of(analyse_by, "runs", options=ByOptions(by="pair", measure="T1-foil")),
    ),
    Exhibit(
        "section 4", "Agreement of people", "92.89 right by majority, 76.32 unanimous",
        "uses the study given", ("study",), _of(analyse_raters, "study"),
    ),
    Exhibit(
        "section 5", "The position of the foil", "no correlation", OTHER_DATA, ("runs",),
        _of(analyse_position, "runs"),
    ),
)  # fmt: skip


def _by_weight(sources: PaperSources, progress: Progress) -> Analysis:
    """The runs that have a weight in the table, on items built the paper's way if there are any.

    The paper's own items are of that kind, and text alone says much about them.
    """
    table = Path(sources.settings)
    runs = _listed(sources, table, "model")
    runs = [run for run in runs if source_of(run.benchmark)[1] == PAPER] or runs
    options = LearningOptions(setting="lambda_gen", settings=table)
    return analyse_learning(runs, options, progress)


MCIC = (
    Exhibit(
        "Tables 4 and 5", "Accuracy by the weight of generation",
        "50.7 at 0, 61.3 at 2, 59.6 at 16",
        f"{OTHER_DATA}; items built the paper's way, whose captions alone say much",
        ("runs", "settings"), _by_weight,
    ),
    Exhibit(
        "section 3.4", "Agreement of people",
        "three raters per item; all three right on 67.3% of items",
        "uses the study given", ("study",), _of(analyse_raters, "study"),
    ),
    Exhibit(
        "section 3", "What the benchmark consists of", "574,315 instances of 114,800 images",
        OTHER_DATA, ("benchmark",), _of(analyse_composition, "benchmark"),
    ),
)  # fmt: skip


def _dropped(sources: PaperSources, progress: Progress) -> Analysis:
    return analyse_dropped([sources.before, *sources.benchmark], progress=progress)


BIVLC = (
    Exhibit(
        "section 3.1", "What people dropped", "61% of SugarCrepe's items",
        "no difference, if these are the two",
        ("before", "benchmark"), _dropped,
    ),
    Exhibit(
        "Table 6", "Group by what was edited",
        "CLIP 57.27 replace, 13.65 swap, 39.58 add; CLIP-COCO 69.94, 20.89, 51.58",
        OTHER_DATA, ("runs",),
        _of(analyse_by, "runs", options=ByOptions(by="family", measure="Group")),
    ),
    Exhibit(
        "finding 3", "Do SugarCrepe and BiVLC rank systems alike?",
        "no correlation; its own Table 3: tau 0.33 (p = 0.47)", "uses the systems given",
        ("runs", "scores"), _rankings,
    ),
    Exhibit(
        "Table 7", "Agreement of annotators", "Cohen's kappa 0.38 to 0.66, mean 0.49",
        "uses the study given", ("study",), _of(analyse_raters, "study"),
    ),
)  # fmt: skip

PAPERS = {"bison": BISON, "foil": FOIL, "mcic": MCIC, "bivlc": BIVLC}


def exhibits_of(paper: str) -> tuple[Exhibit, ...]:
    """A paper's exhibits, by its name."""
    if paper not in PAPERS:
        raise UnknownName("paper", paper, PAPERS)
    return PAPERS[paper]
