"""Options: each is said once, as an annotated field of a frozen dataclass.

The command line, the Python API and the reference are derived from the fields:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class SampleOptions:
        limit: Annotated[int | None, Help("Use a random sample of this many items.")] = None

Nothing heavy is imported here, nor by the modules that only declare options.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Help:
    """What a person is told about an option.

    `flag` is its name on the command line where that is not the field's own: `--lambda` for a
    field `weights`, `--no-cache` for a switch that is on by default and can only be turned off.
    `alias` is an older name that still works. `metavar` stands for the value in the help;
    `choices` are the values allowed. What is `first` or `last` stands before or behind the others
    on the command line and in its help; a flag that may `repeat` is given once for each value.
    """

    text: str
    flag: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    alias: str = ""
    first: bool = False
    last: bool = False
    repeat: bool = False


Seed = Annotated[int, Help("The seed of all randomness.")]
Overwrite = Annotated[bool, Help("Replace what already exists.", last=True)]
SkipBad = Annotated[bool, Help("Leave out what cannot be used, and list it.", last=True)]
CopyImages = Annotated[
    bool, Help("Copy the pictures into the benchmark's folder, so that it can be moved.")
]
Cache = Annotated[
    Path | None, Help("Folder of the cache (default: TELLAPART_CACHE, else ~/.cache/tellapart).")
]


def default_cache() -> Path:
    """The cache folder unless the user names another one."""
    return Path(os.environ.get("TELLAPART_CACHE", "~/.cache/tellapart")).expanduser()


UseCache = Annotated[
    bool, Help("Neither read nor keep embeddings and scores of pairs.", flag="--no-cache")
]
CacheGb = Annotated[
    float, Help("Largest size of the cache in gigabytes; what was used longest ago goes first.")
]
Workers = Annotated[
    str,
    Help(
        "Who does the work: local:N processes, ray[:ADDRESS], slurm[:JOBS] (see docs/scale.md).",
        metavar="HOW",
    ),
]
ShardShare = Annotated[
    str,
    Help(
        "Do only this share of the work: 0/3, 1/3, 2/3 on any machines, then --gather.",
        flag="--shard",
        metavar="I/N",
    ),
]
Gather = Annotated[bool, Help("Put together what was done with --shard.")]
