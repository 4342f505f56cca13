"""VALSE: an image, its caption, and a foil, by linguistic phenomenon.

Parcalabescu et al. 2022. Three people voted on every pair; the files hold all pairs, the valid
ones are those where two or more chose the caption and not the foil (section 4.4).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tellapart.benchmark.published.fields import SourceRow, entry_rows, json_object, slug
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.corpus.reader import name_of

FORM = '{id: {"image_file", "caption", "foil", "mturk": {"caption", "foil", "other"}, ...}, ...}'
ENOUGH = 2
"""At least this many of the three must have chosen the caption and not the foil."""

NOTES = ("dataset", "original_split", "classes", "classes_foil")
CITATION = (
    "Letitia Parcalabescu, Michele Cafagna, Lilitta Muradjan, Anette Frank, Iacer Calixto, Albert "
    "Gatt: VALSE: A Task-Independent Benchmark for Vision and Language Models Centered on "
    "Linguistic Phenomena. ACL 2022"
)


@dataclass(frozen=True, slots=True)
class Votes:
    """What three people said of a pair: that the caption alone fits, or that the foil does too."""

    caption: int
    foil: int
    other: int

    @property
    def confirmed(self) -> bool:
        """Whether the pair counts as valid."""
        return self.caption >= ENOUGH

    def notes(self) -> dict[str, str]:
        """The votes as they go into an item."""
        told = f"caption {self.caption}, foil {self.foil}, other {self.other}"
        return {"votes": told, "confirmed": "yes" if self.confirmed else "no"}


def votes_of(row: SourceRow) -> Votes:
    """The votes on a row."""
    votes = row.inner("mturk")
    other = votes.whole("other") if votes.has("other") else 0
    return Votes(votes.whole("caption"), votes.whole("foil"), other)


def confirmed_words(confirmed: int, total: int) -> str:
    """How the card says who verified."""
    return (
        f"by people: three voted on each pair, and for {confirmed:,} of the {total:,} in the files "
        "two or more chose the caption and not the foil"
    )


def read(collector: ItemCollector) -> None:
    """The pairs that were confirmed, or all of them with `keep_all`."""
    counts: Counter[bool] = Counter()

    def add(collector: ItemCollector, row: SourceRow) -> None:
        votes = votes_of(row)
        counts[votes.confirmed] += 1
        if votes.confirmed or collector.options.keep_all:
            _add(collector, row, votes)

    for file in collector.files:
        collector.each(entry_rows(file, json_object(file, FORM)), add)
    collector.facts |= {
        "pairs": counts.total(),
        "confirmed": counts[True],
        "left_out_unconfirmed": 0 if collector.options.keep_all else counts[False],
    }
    collector.verified = confirmed_words(counts[True], counts.total())


def _add(collector: ItemCollector, row: SourceRow, votes: Votes) -> None:
    collector.add_choice(
        row,
        f"{name_of(row.file)}/{row.key}",
        collector.coco(row, row.text("image_file")),
        (row.text("caption"), row.text("foil")),
        kind=slug(row.text("linguistic_phenomena")),
        notes={**row.notes(*NOTES), **votes.notes()},
    )


IMPORTER = Importer(
    name="valse",
    about="VALSE: which caption fits the image, by linguistic phenomenon, confirmed pairs (JSON)",
    read=read,
    endings=("json",),
    page="https://github.com/Heidelberg-NLP/VALSE",
    licence="MIT",
    citation=CITATION,
)
