"""What an audit found: guesses, findings and remarks, printed as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tellapart.audits.best import Best
from tellapart.audits.guessing import Guess, lift
from tellapart.audits.printing import percent
from tellapart.audits.structure import Finding
from tellapart.measures.estimate import Estimate
from tellapart.text.aligned import aligned

SMALL = 0.005
"""Cues that go less of the way from chance to perfect are counted, not shown."""

NOTES = """\
Ties are halved; "wrong" and "right" show what ties do. Of each cue the stronger way is shown and
the other way beside it; "fair" is the way (and "best" the cue) chosen on other images."""


@dataclass(frozen=True, slots=True)
class Audit:
    """All that was found; `str()` leads with the strongest cue.

    `guesses` holds every cue in every direction by every measure and kind; `fair` each family of
    cues with its direction cross-fitted; `best` the best cue of a side, cross-fitted, by kind.
    """

    benchmark: str
    items: int
    guesses: tuple[Guess, ...]
    fair: tuple[tuple[str, str, Best], ...]
    best: tuple[tuple[str, Best], ...]
    structure: tuple[Finding, ...]
    remarks: tuple[str, ...]

    def guess(self, cue: str, measure: str = "accuracy", kind: str = "micro") -> Guess:
        """One guess by the name of its cue."""
        return next(
            g
            for g in self.guesses
            if (g.cue, g.estimate.measure, g.estimate.kind) == (cue, measure, kind)
        )

    def finding(self, name: str) -> Finding:
        """One finding by its name."""
        return next(found for found in self.structure if found.name == name)

    def strongest(self) -> list[Guess]:
        """The stronger way of each cue by each measure, over all kinds, strongest first."""
        ways: dict[tuple[str, str, str], Guess] = {}
        for guess in self.guesses:
            key = (guess.family, guess.asked, guess.estimate.measure)
            if guess.estimate.kind == "micro" and (key not in ways or guess.lift > ways[key].lift):
                ways[key] = guess
        return sorted(ways.values(), key=lambda guess: -guess.lift)

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "benchmark": self.benchmark,
            "items": self.items,
            "best": [{"sees": sees, **best.to_json()} for sees, best in self.best],
            "guesses": [guess.to_json() for guess in self.guesses],
            "direction_chosen_on_other_images": [
                {"family": family, "asked": asked, **best.to_json()}
                for family, asked, best in self.fair
            ],
            "structure": [finding.to_json() for finding in self.structure],
            "remarks": list(self.remarks),
        }

    def __str__(self) -> str:
        parts = [f"{self.benchmark}: {self.items:,} items"]
        if self.guesses:
            parts += ["What can be guessed without looking", self._guess_table(), NOTES]
        if self.best:
            parts += ["The best guess, chosen on other images", _best_table(self.best)]
        parts += ["Structure", _finding_table(self.structure)]
        if self.remarks:
            parts.append("\n".join(f"remark: {remark}" for remark in self.remarks))
        return "\n\n".join(parts)

    def _guess_table(self) -> str:
        heads = ("cue", "asked", "measure", "score", "95% interval", "chance", "wrong", "right",
                 "other way", "fair", "n")  # fmt: skip
        strongest = self.strongest()
        shown = [g for g in strongest if g.lift > SMALL and not _mirrored(g.sees, g.estimate)]
        shown = shown or strongest[:1]
        table = aligned([heads, *(self._line(guess) for guess in shown)], range(3))
        hidden = len(strongest) - len(shown)
        return table + (f"\n{hidden} more give nothing away (see --json)" if hidden else "")

    def _line(self, guess: Guess) -> tuple[str, ...]:
        own = guess.estimate
        key = (guess.family, guess.asked, own.measure)
        others = [
            other.estimate.value
            for other in self.guesses
            if (other.family, other.asked, other.estimate.measure) == key
            and other.estimate.kind == "micro"
            and other.cue != guess.cue
        ]
        fair = [b for f, a, b in self.fair if (f, a, b.estimate.measure) == key]
        return (
            guess.cue,
            guess.asked,
            own.measure,
            percent(own.value),
            f"{percent(own.low)} - {percent(own.high)}",
            percent(own.chance),
            percent(guess.wrong),
            percent(guess.right),
            percent(max(others)) if others else "-",
            percent(fair[0].estimate.value) if fair else "-",
            f"{own.n:,}",
        )


def _best_table(best: Sequence[tuple[str, Best]]) -> str:
    heads = ("from", "measure", "kind", "cue", "score", "95% interval", "chance", "n")
    lines = [heads]
    every = sorted(best, key=_best_place(best))
    shown = [
        (sees, one)
        for sees, one in every
        if lift(one.estimate) > SMALL and not _mirrored(sees, one.estimate)
    ]
    for sees, one in shown:
        own = one.estimate
        cue = one.cue + ("" if one.fair else " (chosen on these items)")
        interval = f"{percent(own.low)} - {percent(own.high)}"
        lines.append(
            (sees, own.measure, own.kind, cue, percent(own.value), interval, percent(own.chance),
             f"{own.n:,}")
        )  # fmt: skip
    if not shown:
        return "nothing: no cue is above chance on other images"
    return aligned(lines, range(4))


def _mirrored(sees: str, estimate: Estimate) -> bool:
    """In a 2 x 2 grid one side alone gets the edited pair wrong as often as the original right."""
    return sees != "both" and estimate.measure in ("Ineg2T", "Tneg2I")


def _best_place(best: Sequence[tuple[str, Best]]) -> Any:
    """Measures by how far their micro average is above chance, their kinds behind it."""
    tops = {
        (s, b.estimate.measure): lift(b.estimate) for s, b in best if b.estimate.kind == "micro"
    }
    return lambda row: -tops[row[0], row[1].estimate.measure]


def _finding_table(findings: Iterable[Finding]) -> str:
    lines = []
    for found in findings:
        share = f"{percent(found.count / found.of)}%" if found.of else "-"
        lines.append((found.name, found.says, f"{found.count:,}", f"of {found.of:,}", share))
    return aligned(lines, range(2)) if lines else "nothing was looked at"
