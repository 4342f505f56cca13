"""Verbs: what the toolkit does, one file each; Python and the command line follow from them.

    @dataclass(frozen=True, slots=True, kw_only=True)
    class StatusOptions:
        database: Annotated[str, Help("The address of the database.")] = ""

    def status(
        folder: Annotated[Path, Help("A study's folder.")],
        options: StatusOptions = StatusOptions(),
        progress: Progress = silent,
    ) -> StudyStatus:
        \"\"\"Say how far a study is.\"\"\"

    VERB = Verb(status, example="tellapart study status my-study")

On the command line a positional parameter with `Help` is an argument (a flag if its `Help` has
one); a keyword-only parameter and a field of `options` is a flag. Others are for Python alone.
`progress` gets bars; `ready`, where a verb has it, prints a result before the verb returns.

The tables name every verb without importing it, so that `tellapart --help` is quick; a test holds
them to the verbs' own first lines.
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
    "corpus": "Put corpora together, or keep a part of one.",
    "get": "Get a published benchmark from its authors' files.",
    "build": "Build a benchmark from a corpus.",
    "refine": "Keep the part of a benchmark that cannot be guessed from the text alone.",
    "show": "Print a benchmark's card and some of its items.",
    "validate": "Check that a benchmark is whole and that its pictures can be read.",
    "subset": "Keep some of a benchmark's items; the card says how they were chosen.",
    "merge": "Put the items of several benchmarks together.",
    "diff": "Say what sets two benchmarks apart, item by item.",
    "export": "Write a benchmark for the Hugging Face hub, with Croissant metadata.",
    "audit": "Find what can be guessed without looking, and what is odd about the items.",
    "evaluate": "Run models on benchmarks.",
    "import": "Make a run from answers that were computed elsewhere.",
    "measure": "Measure runs: an overview, then score, interval, chance and ties by each measure.",
    "analyse": "Analyse runs, captions or judgements: tables, a figure, and a sentence with its "
    "interval.",
    "view": "See what models got wrong: items with their pictures and answers, in the browser.",
    "paper": "Write a page with every table and figure of a paper: ours beside the published ones.",
    "report": "Write a report: one HTML file that needs nothing else.",
    "compare": "Compare runs, every two on what both cover: is the difference real or noise?",
    "retrieve": "Find images by their captions and captions by their images: recall@1/5/10, ranks.",
    "caption": "Let a captioner write a caption of every image.",
    "table": "Print a paper's tables with our systems beside the published ones.",
    "captions": "Judge captions against references: BLEU, ROUGE-L, CIDEr, METEOR and others.",
    "neighbours": "Find the nearest captions of every caption, of corpora larger than the memory.",
    "features": "Compute vectors of images and of their regions, for systems that are trained on "
    "them.",
    "train": "Train a system on a corpus: what comes out is the model trained:OUT.",
    "cost": "Compare a model before and after: near misses, retrieval, zero-shot, and cues it "
    "learned.",
    "zeroshot": "Put pictures into classes by the classes' names alone: top-1 and top-5 accuracy.",
    "study": "People: create a study, serve it, see how far it is, export what they said.",
    "work": "Long work: see how far shards are, send what a store did not take.",
    "list": "List what is installed, with a line about each.",
}
"""Every verb with its line of help, in the order of a project."""

BUILDERS = {
    "bison": "A caption and two similar images, of which it describes one.",
    "mcic": "An image and five captions, four of them decoys from other images.",
    "foil": "Captions with one wrong word: is it right, which word is wrong, what should it be?",
    "negatives": "A caption beside one that differs by a detail and is false: seven kinds of hard "
    "negative.",
    "bivlc": "Two images and two captions that differ by a detail, asked both ways.",
    "trohn-text": "Hard negative texts to train on: for every caption one of each kind, split by "
    "image.",
    "trohn-img": "Hard negative images to train on: the best negative texts, refined, with an "
    "image each.",
}

ANALYSES = {
    "agreement": "Do models err where people, or other models, err? Kappa of right and wrong, "
    "item by item.",
    "by": "Accuracy by any fact: the easiest and hardest groups, and where two models part.",
    "collection-size": "Recall@k of finding images, against the size of the collection, with a "
    "band.",
    "composition": "What benchmarks consist of: items, distinct images and captions, pairs of "
    "target and foil.",
    "dropped": "Which share of items was dropped between two versions of a benchmark, by kind.",
    "learning": "Score against training size or any other setting, with bands and what the last "
    "step brought.",
    "lengths": "How long captions are and which parts of speech they have, beside a corpus.",
    "position": "Does accuracy go with the foil's place, or with any other number? Rank "
    "correlations.",
    "rankings": "Do two measures or benchmarks rank systems alike? Kendall's tau with a "
    "bootstrap interval.",
    "raters": "How much people agree: every coefficient of a study, and Cohen's kappa pair by "
    "pair.",
    "ratings": "What people gave captions, beside what metrics gave: means, correlations, "
    "disagreements.",
    "recall-errors": "How many recall@1 errors people take for right answers, and recall "
    "corrected for them.",
    "references": "How captioning scores depend on the number of references, relative to all of "
    "them.",
    "regression": "Which facts make an answer right: a logistic regression with random effects.",
    "scores": "Are captions better where answers are right? Captioning scores of both, and the "
    "AUC.",
}

STUDY = {
    "plan": "How many judgements are needed: what they give, how many people and hours they take.",
    "create": "Set up a study of a benchmark's items, of pairs, or of captions.",
    "invite": "Make personal links; each is shown once, so keep what is printed.",
    "serve": "Serve a study until you stop it (ctrl-c); people go on where they were.",
    "status": "Say how far a study is.",
    "people": "List people: how much they judged, how fast, and how well.",
    "person": "Count someone's judgements no more, take that back, end their link, or delete all.",
    "participants": "Let in only those people of Prolific whom a file lists.",
    "owner": "Show the link to the owner's page, or make a new one in its place.",
    "simulate": "Let simulated people work through a study by its real HTTP interface, on this "
    "machine.",
    "export": "Write judgements, agreement, human figures, the human run and the verified "
    "benchmark.",
}

WORK = {
    "status": "Say how far work in shards is, whoever does it.",
    "send": "Send what could not be sent because an object store did not answer.",
}


FOLDERS = {
    "benchmarks": ("get", "refine", "show", "validate", "subset", "merge", "diff", "export",
                   "audit"),
    "runs": ("evaluate", "import", "measure", "analyse", "view", "report", "compare"),
    "systems": ("retrieve", "caption", "features", "train", "cost", "zeroshot"),
}  # fmt: skip
"""Verbs that stand in a folder of their like; the others stand beside this file."""


def module_of(verb: str) -> str:
    """The module of a verb; words of Python have a line below them.

    >>> module_of("import")
    'tellapart.verbs.runs.import_'
    >>> module_of("list")
    'tellapart.verbs.list_'
    """
    folder = next((f"{name}." for name, verbs in FOLDERS.items() if verb in verbs), "")
    return f"tellapart.verbs.{folder}{verb}{'_' if verb in ('import', 'list') else ''}"


@dataclass(frozen=True, slots=True)
class Verb:
    """A function of the Python API and how its result is printed on the command line.

    `text` and `json` turn the result into what is printed (default: `str`, and its `to_json()`);
    `notes` are lines for stderr, `code` is the exit code. Those of them that take a second
    argument get an object with the function's parameters (`given.out`) and the fields of `flags`,
    a dataclass of flags that only affect what is printed (`given.latex`).
    A verb that `resumes` goes on where it was stopped when the same command is given again.
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
        """The first line of what the function says of itself."""
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
    """A benchmark as it is, or read from its folder, or by its name."""
    from tellapart.benchmark.benchmark import Benchmark, load_benchmark

    return where if isinstance(where, Benchmark) else load_benchmark(where)


def open_corpus(where: Corpus | Path | str, options: ReadOptions | None = None) -> Corpus:
    """A corpus as it is, or read from whatever form it has."""
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.reader import ReadOptions, read_corpus

    return where if isinstance(where, Corpus) else read_corpus(where, options or ReadOptions())


def benchmark_text(benchmark: Benchmark) -> str:
    """What is printed of a benchmark that was written."""
    return f"{benchmark}  ->  {benchmark.root}"


def benchmark_json(benchmark: Benchmark) -> Any:
    """The card of a benchmark that was written."""
    from tellapart.benchmark.benchmark import card_json

    return card_json(benchmark)


def skipped_notes(skipped: tuple[str, ...]) -> list[str]:
    """Lines that name what `--skip-bad` left out."""
    lines = [f"skipped: {what}" for what in skipped[:20]]
    more = len(skipped) - 20
    return [*lines, f"skipped: ... and {more:,} more"] if more > 0 else lines
