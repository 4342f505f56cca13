"""The verdict of an audit: what can be answered without looking, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tellapart.attack.attack import Hit, TextAttack
from tellapart.text.table_text import percent

if TYPE_CHECKING:
    from tellapart.audits.audit import Audit

CLEARLY = 0.05
"""A benchmark counts as guessable if the interval's lower end is this far above chance."""
NAMED = 3
"""How many families of features to name."""


def verdict(audit: Audit) -> list[str]:
    """The main results of an audit, one sentence each."""
    lines = [
        *_attacked(audit.attack, "by text alone", audit.grids),
        *_attacked(audit.pictures, "by pictures alone", audit.grids),
    ]
    lines += audit.detectors.verdict() if audit.detectors else []
    lines += [*_grids(audit), *_places(audit), *_single_cues(audit)]
    return lines or ["no question could be guessed from captions or pictures alone"]


def share(hit: Hit) -> str:
    """A figure with its interval and chance.

    >>> share(Hit("all", 0.891, 0.87, 0.91, 0.5, 1000))
    '89.1% (87.0 - 91.0, chance 50.0)'
    """
    return f"{percent(hit.value)}% ({hit.interval}, chance {percent(hit.chance)})"


def degree(hit: Hit) -> str:
    """How guessable, by the lower end of the interval compared with chance."""
    if hit.low > hit.chance + CLEARLY:
        return "guessable"
    return "slightly guessable" if hit.low > hit.chance else "not guessable"


def _attacked(attack: TextAttack | None, how: str, grids: bool) -> Iterator[str]:
    if attack is None:
        return
    if grids:
        how += " (original or edited; this cannot answer a whole grid)"
    told = f"{degree(attack.overall)} {how}: {share(attack.overall)} by {attack.attacker}"
    carried = [f"{name} {percent(value)}" for name, value in attack.carried_by()[:NAMED]]
    if attack.overall.low > attack.overall.chance and carried:
        told += f"; the main cues are {', '.join(carried)}"
    yield told
    worse = [
        f"{hit.kind} {percent(hit.value)}"
        for hit in attack.hits[attack.attacker][1:]
        if hit.low > hit.chance + CLEARLY
    ]
    fair = len(attack.hits[attack.attacker]) - 1 - len(worse)
    if worse and fair:
        yield f"of {fair + len(worse)} kinds, these are guessable {how}: {', '.join(worse)}"


def _grids(audit: Audit) -> Iterator[str]:
    """Whole 2 x 2 grids, by both sides."""
    for sees, best in audit.best:
        own = best.estimate
        if (
            sees == "both"
            and own.measure == "Group"
            and own.kind == "micro"
            and own.low > own.chance
        ):
            yield (
                f"guessable by an image and a text detector together: {percent(own.value)}% of "
                f"whole grids ({percent(own.low)} - {percent(own.high)}, chance "
                f"{percent(own.chance)})"
            )


def _places(audit: Audit) -> Iterator[str]:
    for family, _, best in audit.fair:
        own = best.estimate
        if family.startswith("place of the") and own.low > own.chance and own.kind == "micro":
            yield (
                f"guessable by the {family}, as stored: {percent(own.value)}% by always choosing "
                f"{best.cue} (chance {percent(own.chance)})"
            )
    for finding in audit.structure:
        if finding.name == "sorted options" and finding.of and finding.count == finding.of:
            yield "options are sorted: all items have their captions in alphabetical order"


def _single_cues(audit: Audit) -> Iterator[str]:
    """Single cues of captions if no attacker ran, and single cues of pictures."""
    known: Sequence[str] = ["caption"] if audit.attack is not None else []
    for sees, best in audit.best:
        own = best.estimate
        if sees in known or sees == "both" or own.kind != "micro" or own.low <= own.chance:
            continue
        yield (
            f"guessable from the {sees} by one cue, {best.label}: {percent(own.value)}% by "
            f"{own.measure} (chance {percent(own.chance)})"
        )
