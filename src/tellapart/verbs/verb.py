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
from typing import Any


def _to_json(result: Any, *flags: Any) -> Any:
    return result.to_json()


def _to_text(result: Any, *flags: Any) -> str:
    return str(result)


@dataclass(frozen=True, slots=True)
class Verb:
    """A function of the Python API and how its result is told on the command line.

    `text` and `json` turn the result into what is printed (default: `str`, and its `to_json()`);
    `notes` are lines for stderr, `code` is the exit code. `flags` is a dataclass of flags that
    only bear on what is printed; `text` and `json` get it as their second argument. A verb that
    `resumes` goes on where it was stopped when the same command is given again.
    """

    function: Callable[..., Any]
    _: KW_ONLY
    example: str
    text: Callable[..., str] = _to_text
    json: Callable[..., Any] = _to_json
    notes: Callable[[Any], Iterable[str]] = lambda result: ()
    code: Callable[[Any], int] = lambda result: 0
    flags: type | None = None
    resumes: bool = False

    @property
    def about(self) -> str:
        """The first line of what the function says of itself."""
        return (self.function.__doc__ or "").strip().split("\n")[0]
