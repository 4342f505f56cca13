"""Options: each is declared once, as an annotated field of a frozen dataclass.

The command line, the Python API and the reference are derived from the fields:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class SampleOptions:
        limit: Annotated[int | None, Help("Use a random sample of this many items.")] = None

This module and those that only declare options import nothing heavy.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Help:
    """The help text of an option, and how it appears on the command line.

    `flag` is its name on the command line if that differs from the field's: `--lambda` for a
    field `weights`, `--no-cache` for a switch that is on by default and can only be turned off.
    `alias` is an older name that still works. `metavar` is the placeholder for the value in the
    help; `choices` are the allowed values. `first` and `last` move an option before or after the
    others, on the command line and in its help; a flag with `repeat` is given once per value.
    """

    text: str
    flag: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    alias: str = ""
    first: bool = False
    last: bool = False
    repeat: bool = False


Seed = Annotated[int, Help("Seed for all random choices.")]
Overwrite = Annotated[bool, Help("Replace existing output.", last=True)]
SkipBad = Annotated[bool, Help("Skip inputs that cannot be used, and list them.", last=True)]
CopyImages = Annotated[
    bool, Help("Copy the pictures into the benchmark's folder so that it can be moved.")
]
Cache = Annotated[
    Path | None, Help("Folder of the cache (default: TELLAPART_CACHE, else ~/.cache/tellapart).")
]


def default_cache() -> Path:
    """The cache folder unless the user names another one."""
    return Path(os.environ.get("TELLAPART_CACHE", "~/.cache/tellapart")).expanduser()


UseCache = Annotated[
    bool, Help("Neither read nor store cached embeddings and pair scores.", flag="--no-cache")
]
CacheGb = Annotated[
    float, Help("Size limit of the cache in gigabytes; the least recently used entries go first.")
]
Workers = Annotated[
    str,
    Help(
        "Where the work runs: local:N processes, ray[:ADDRESS] or slurm[:JOBS] (see "
        "docs/scale.md).",
        metavar="HOW",
    ),
]
ShardShare = Annotated[
    str,
    Help(
        "Do only this share of the work: run 0/3, 1/3 and 2/3 on any machines, then --gather.",
        flag="--shard",
        metavar="I/N",
    ),
]
Gather = Annotated[bool, Help("Combine the shares that were done with --shard.")]
