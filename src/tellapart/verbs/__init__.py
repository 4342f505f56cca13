"""Verbs: the toolkit's operations, one file each, for Python and the command line alike.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class StatusOptions:
        database: Annotated[str, Help("The address of the database.")] = ""

    def status(
        folder: Annotated[Path, Help("A study's folder.")],
        options: StatusOptions = StatusOptions(),
        progress: Progress = silent,
    ) -> StudyStatus:
        \"\"\"Show a study's progress.\"\"\"

    VERB = Verb(status, example="tellapart study status my-study")

On the command line, a positional parameter with `Help` is an argument (or a flag, if its `Help`
names one); keyword-only parameters and fields of `options` are flags. Other parameters exist only
in Python. `progress` draws progress bars; `ready`, if a verb has it, prints a result before the
verb returns.

The tables below name every verb without importing it, so that `tellapart --help` is fast; a test
compares them with the first lines of the verbs' docstrings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tellapart.options import Help

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.reader import ReadOptions


VERBS = {
    "demo": "Draw a world, build four benchmarks, run the built-in models, write a report.",
    "world": "Draw a corpus: pictures of a storybook world with five captions each.",
    "corpus": "Combine corpora, or keep part of one.",
    "get": "Get a published benchmark from its authors' files.",
    "build": "Build a benchmark from a corpus.",
    "refine": "Keep the part of a benchmark that cannot be guessed from the text alone.",
    "show": "Print a benchmark's card and some of its items.",
    "validate": "Check that a benchmark is intact and that its pictures can be read.",
    "subset": "Keep some of a benchmark's items; the card says how they were chosen.",
    "merge": "Combine the items of several benchmarks.",
    "diff": "Show how two benchmarks differ, item by item.",
    "export": "Write a benchmark for the Hugging Face hub, with Croissant metadata.",
    "audit": "Find what can be guessed without looking, and what is odd about the items.",
    "evaluate": "Run models on benchmarks.",
    "import": "Make a run from answers computed elsewhere.",
    "measure": "Measure runs: an overview, then score, interval, chance and ties for each measure.",
    "analyse": "Analyse runs, captions or judgements: tables, a figure, and a sentence with its "
    "interval.",
    "view": "See what models got wrong: items with their pictures and answers, in the browser.",
    "paper": "Write a page with every table and figure of a paper: ours beside the published ones.",
    "report": "Write a report: one self-contained HTML file.",
    "compare": "Compare runs in pairs, on the items both cover: is the difference real or noise?",
    "retrieve": "Find images by their captions and captions by their images: recall@1/5/10, ranks.",
    "caption": "Have a captioner write a caption for every image.",
    "table": "Print a paper's tables with our systems beside the published ones.",
    "captions": "Judge captions against references: BLEU, ROUGE-L, CIDEr, METEOR and others.",
    "neighbours": "Find the nearest captions of every caption, in a corpus of any size.",
    "features": "Compute feature vectors of images and their regions, to train systems on.",
    "train": "Train a system on a corpus; the result is the model trained:OUT.",
    "cost": "Compare a model before and after tuning: near misses, retrieval, zero-shot, learned "
    "cues.",
    "zeroshot": "Classify pictures by the classes' names alone: top-1 and top-5 accuracy.",
    "study": "Studies with people: create, serve and monitor a study, export its results.",
    "work": "Long jobs: show the progress of shards, send results to a store that was down.",
    "list": "List what is installed, one line each.",
}
"""Every verb with its line of help, in the order in which a project uses them."""

BUILDERS = {
    "bison": "A caption and two similar images, one of which it describes.",
    "mcic": "An image and five captions, four of them decoys from other images.",
    "foil": "Captions with one wrong word: is it right, which word is wrong, what should it be?",
    "negatives": "A caption beside a false one that differs in one detail: seven kinds of hard "
    "negative.",
    "bivlc": "Two images and two captions that differ in one detail, asked in both directions.",
    "trohn-text": "Hard negative texts to train on: one of each kind for every caption, split by "
    "image.",
    "trohn-img": "Hard negative images to train on: the best negative texts, refined, each with "
    "an image.",
}

ANALYSES = {
    "agreement": "Do models err where people, or other models, err? Kappa of right and wrong, "
    "item by item.",
    "by": "Accuracy by any fact: the easiest and hardest groups, and where two models differ.",
    "collection-size": "Recall@k of image retrieval against the size of the collection, with a "
    "band.",
    "composition": "What benchmarks consist of: items, distinct images and captions, target-foil "
    "pairs.",
    "dropped": "The share of items dropped between two versions of a benchmark, by kind.",
    "learning": "Score against training size or another setting, with bands and the gain from low "
    "to high.",
    "lengths": "How long captions are and which parts of speech they have, beside a corpus.",
    "position": "Does accuracy depend on the foil's position, or on any other number? Rank "
    "correlations.",
    "rankings": "Do two measures or benchmarks rank systems alike? Kendall's tau with a "
    "bootstrap interval.",
    "raters": "How much people agree: every coefficient of a study, and Cohen's kappa pair by "
    "pair.",
    "ratings": "People's ratings of captions beside metrics: means, correlations, disagreements.",
    "recall-errors": "How many recall@1 errors people accept as right, and recall corrected for "
    "them.",
    "references": "How captioning scores depend on the number of references, relative to all of "
    "them.",
    "regression": "Which facts predict a right answer: a logistic regression with random effects.",
    "scores": "Are captions better where answers are right? Captioning scores of both, and the "
    "AUC.",
}

STUDY = {
    "plan": "How many judgements are needed: what they give, how many people and hours they take.",
    "create": "Create a study of a benchmark's items, of pairs, or of captions.",
    "invite": "Create personal links; each is shown only once, so save the output.",
    "serve": "Serve a study until you stop it (ctrl-c); people can resume where they left off.",
    "status": "Show a study's progress.",
    "people": "List people: how much they judged, how fast, and how well.",
    "person": "Exclude or restore a person's judgements, revoke their link, or delete their data.",
    "participants": "Admit only the Prolific participants listed in a file.",
    "owner": "Show the link to the owner's page, or replace it with a new one.",
    "simulate": "Have simulated people work through a study over its real HTTP interface, on this "
    "machine.",
    "export": "Write judgements, agreement, human figures, the human run and the verified "
    "benchmark.",
}

WORK = {
    "status": "Show the progress of a job in shards, wherever its workers run.",
    "send": "Send results that an object store could not take when they were written.",
}


FOLDERS = {
    "benchmarks": ("get", "refine", "show", "validate", "subset", "merge", "diff", "export",
                   "audit"),
    "runs": ("evaluate", "import", "measure", "analyse", "view", "report", "compare"),
    "systems": ("retrieve", "caption", "features", "train", "cost", "zeroshot"),
}  # fmt: skip
"""Verbs that are grouped in a folder; the others are beside this file."""


def module_of(verb: str) -> str:
    """The module of a verb; keywords and built-ins of Python get an underscore.

    >>> module_of("import")
    'tellapart.verbs.runs.import_'
    >>> module_of("list")
    'tellapart.verbs.list_'
    """
    folder = next((f"{name}." for name, verbs in FOLDERS.items() if verb in verbs), "")
    return f"tellapart.verbs.{folder}{verb}{'_' if verb in ('import', 'list') else ''}"


@dataclass(frozen=True, slots=True)
class Verb:
    """A function of the Python API and how the command line prints its result.

    `text` and `json` turn the result into the output (default: `str`, and its `to_json()`);
    `notes` gives lines for stderr, `code` the exit code. Those that take a second argument
    receive an object with the function's parameters (`given.out`) and the fields of `flags`,
    a dataclass of flags that only affect the output (`given.latex`).
    A verb that `resumes` continues where it stopped when the same command is run again.
    """

    function: Callable[..., Any]
    _: KW_ONLY
    example: str
    text: Callable[..., str] = str
    json: Callable[..., Any] = lambda result: result.to_json()
    notes: Callable[..., Iterable[str]] = lambda result: ()
    code: Callable[..., int] = lambda result: 0
    flags: type | None = None
    resumes: bool = False

    @property
    def about(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


BenchmarkSource = Annotated["Benchmark | Path | str", Help("A benchmark's folder, or its name.")]
OutFolder = Annotated[Path | str, Help("Folder to write to.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFlags:
    """How a table of results is printed."""

    latex: Annotated[bool, Help("Print a LaTeX table instead.")] = False


def table_text(result: Any, given: Any) -> str:
    """A result that has a table, as text or as LaTeX."""
    return str(result.to_latex() if given.latex else result)


def open_benchmark(where: Benchmark | Path | str) -> Benchmark:
    """A benchmark, read from its folder or found by its name if it is not loaded yet."""
    from tellapart.benchmark.benchmark import Benchmark, load_benchmark

    return where if isinstance(where, Benchmark) else load_benchmark(where)


def open_corpus(where: Corpus | Path | str, options: ReadOptions | None = None) -> Corpus:
    """A corpus, read from any supported format if it is not loaded yet."""
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.reader import ReadOptions, read_corpus

    return where if isinstance(where, Corpus) else read_corpus(where, options or ReadOptions())


def benchmark_text(benchmark: Benchmark) -> str:
    """The line printed after a benchmark is written."""
    return f"{benchmark}  ->  {benchmark.root}"


def benchmark_json(benchmark: Benchmark) -> Any:
    """The card of a benchmark that was written."""
    from tellapart.benchmark.benchmark import card_json

    return card_json(benchmark)


def skipped_notes(skipped: tuple[str, ...]) -> list[str]:
    """Lines that list what `--skip-bad` left out."""
    lines = [f"skipped: {what}" for what in skipped[:20]]
    more = len(skipped) - 20
    return [*lines, f"skipped: ... and {more:,} more"] if more > 0 else lines
