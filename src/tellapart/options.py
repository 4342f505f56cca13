"""Options: each is said once, as an annotated field of a frozen dataclass.

The command line, the Python API and the reference are derived from the fields:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class SampleOptions:
        limit: Annotated[int | None, Help("Use a random sample of this many items.")] = None

Nothing heavy is imported here, nor by the modules that only declare options.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Help:
    """What a person is told about an option.

    `flag` is its name on the command line where that is not the field's own (`--lambda` for a
    field `lambda_`); `metavar` stands for the value in the help; `choices` are the values allowed.
    """

    text: str
    flag: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
