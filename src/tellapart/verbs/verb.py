"""What a verb is: a function whose parameters say what they are for.

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
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tellapart.benchmark.benchmark import Benchmark
    from tellapart.corpus.corpus import Corpus
    from tellapart.corpus.reader import ReadOptions


def _to_json(result: Any) -> Any:
    return result.to_json()


@dataclass(frozen=True, slots=True)
class Verb:
    """A function of the Python API and how its result is told on the command line.

    `text` and `json` turn the result into what is printed (default: `str`, and its `to_json()`);
    `notes` are lines for stderr, `code` is the exit code. Those of them that take a second
    argument get what was given: an object with the function's parameters (`given.out`) and the
    fields of `flags`, a dataclass of flags that only bear on what is printed (`given.latex`).
    A verb that `resumes` goes on where it was stopped when the same command is given again.
    """

    function: Callable[..., Any]
    _: KW_ONLY
    example: str
    text: Callable[..., str] = str
    json: Callable[..., Any] = _to_json
    notes: Callable[..., Iterable[str]] = lambda result: ()
    code: Callable[..., int] = lambda result: 0
    flags: type | None = None
    resumes: bool = False

    @property
    def about(self) -> str:
        """The first line of what the function says of itself."""
        return (self.function.__doc__ or "").strip().split("\n")[0]


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


def benchmark_notes(benchmark: Benchmark) -> list[str]:
    """What was left out of a benchmark that was written."""
    return skipped_notes(benchmark.card.skipped)


def skipped_notes(skipped: tuple[str, ...]) -> list[str]:
    """Lines that name what `--skip-bad` left out."""
    lines = [f"skipped: {what}" for what in skipped[:20]]
    more = len(skipped) - 20
    return [*lines, f"skipped: ... and {more:,} more"] if more > 0 else lines
