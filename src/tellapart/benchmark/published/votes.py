"""People's votes on pairs of captions, as published by VALSE, and what they confirm."""

from __future__ import annotations

from dataclasses import dataclass

from tellapart.benchmark.published.fields import SourceRow


@dataclass(frozen=True, slots=True)
class Votes:
    """Where a row has its votes, and how many for the caption alone suffice."""

    column: str = "mturk"
    caption: str = "caption"
    foil: str = "foil"
    other: str = "other"
    enough: int = 2

    def notes(self, row: SourceRow) -> dict[str, str]:
        """The votes on a pair (only the caption fits, or the foil too), as notes."""
        votes = row.inner(self.column)
        caption, foil = votes.whole(self.caption), votes.whole(self.foil)
        other = votes.whole(self.other) if votes.has(self.other) else 0
        confirmed = "yes" if caption >= self.enough else "no"
        return {"votes": f"caption {caption}, foil {foil}, other {other}", "confirmed": confirmed}


VALSE = Votes()
"""At least two of three people must choose the caption and not the foil (Parcalabescu et al. 2022,
section 4.4)."""


def confirmed_words(confirmed: int, total: int) -> str:
    """The card's statement about who verified the pairs."""
    return (
        f"by people: three voted on each pair, and for {confirmed:,} of the {total:,} in the files "
        "two or more chose the caption and not the foil"
    )
