"""What `--workers`, `--shard` and `--gather` say, as the crew that does the work."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from tellapart.errors import BadInput
from tellapart.work.crew import Crew, InThisProcess, Launcher

FORMS = "local:N, ray, ray:ADDRESS, slurm, slurm:JOBS or slurm:JOBS?partition=NAME&time=MINUTES"


def crew_of(workers: str, shard: str, gather: bool) -> Crew | None:
    """Who does the work; None where the command does it itself, as always.

    >>> crew_of("", "", False) is None
    True
    >>> crew_of("local:2", "", False).launcher
    Local(workers=2)
    >>> crew_of("", "0/3", False).share
    (0, 3)
    """
    given = [bool(workers), bool(shard), gather]
    if sum(given) > 1:
        raise BadInput(
            "--workers, --shard and --gather are given together",
            allowed="one of them",
            todo="shares by hand: --shard 0/3, 1/3 and 2/3, then --gather",
        )
    if shard:
        return Crew(InThisProcess(), share=share_of(shard))
    if gather:
        return Crew(InThisProcess(), gather=True)
    return Crew(launcher_of(workers)) if workers else None


def share_of(text: str) -> tuple[int, int]:
    """A share of all shards: `0/3` is the first of three."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not int(match[1]) < int(match[2]):
        raise BadInput(
            f"--shard {text}",
            allowed="I/N with I from 0 to N - 1, such as 0/3, 1/3 and 2/3",
        )
    return int(match[1]), int(match[2])


def launcher_of(text: str) -> Launcher:
    """The launcher that a text such as `local:4` names."""
    name, _, rest = text.partition(":")
    if name == "local" and re.fullmatch(r"[1-9]\d*", rest):
        from tellapart.work.local import Local

        return Local(int(rest))
    if name == "ray":
        from tellapart.work.on_ray import OnRay

        return OnRay(rest)
    match = re.fullmatch(r"([1-9]\d*)?(?:\?(.*))?", rest)
    if name == "slurm" and match is not None:
        from tellapart.work.on_slurm import OnSlurm

        settings = tuple(parse_qsl(match[2] or ""))
        return OnSlurm(int(match[1]), settings) if match[1] else OnSlurm(settings=settings)
    raise BadInput(f"--workers {text}", allowed=FORMS)
