"""VALSE: an image, its caption, and a foil, by linguistic phenomenon.

Parcalabescu et al. 2022. Three people voted on every pair; the files hold all pairs, the valid
ones are those where two or more chose the caption and not the foil (section 4.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tellapart.benchmark.published.fields import Row, json_entries, row_of, slug
from tellapart.benchmark.published.gathering import Gathering
from tellapart.benchmark.published.importer import Importer
from tellapart.benchmark.published.options import GetOptions, Imported
from tellapart.corpus.reader import name_of

FORM = '{id: {"image_file", "caption", "foil", "mturk": {"caption", "foil", "other"}, ...}, ...}'
ENOUGH = 2
"""So many of the three must have chosen the caption and not the foil."""

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


def votes_of(row: Row) -> Votes:
    """The votes on a row."""
    given = row.inner("mturk")
    other = given.whole("other") if given.values.get("other") is not None else 0
    return Votes(given.whole("caption"), given.whole("foil"), other)


def confirmed_words(confirmed: int, total: int) -> str:
    """How the card says who verified."""
    return (
        f"by people: three voted on each pair, and for {confirmed:,} of the {total:,} in the files "
        "two or more chose the caption and not the foil"
    )


def read(files: Sequence[Path], options: GetOptions) -> Imported:
    """The pairs that were confirmed, or all of them with `keep_all`."""
    gathering = Gathering("valse", files, options)
    total = confirmed = 0
    for file in files:
        for key, title, where, value in json_entries(file, FORM):
            with gathering.row(where):
                row = row_of(value, title, where)
                votes = votes_of(row)
                total += 1
                confirmed += votes.confirmed
                if votes.confirmed or options.keep_all:
                    _add(gathering, row, file, f"{name_of(file)}/{key}", votes)
    left_out = 0 if options.keep_all else total - confirmed
    facts = {"pairs": total, "confirmed": confirmed, "left_out_unconfirmed": left_out}
    return gathering.done(facts, confirmed_words(confirmed, total))


def _add(gathering: Gathering, row: Row, file: Path, source_id: str, votes: Votes) -> None:
    notes = {key: value for name in NOTES for key, value in row.note(name).items()}
    gathering.add_choice(
        file,
        source_id,
        gathering.coco(row.text("image_file"), file),
        (row.text("caption"), row.text("foil")),
        0,
        kind=slug(row.text("linguistic_phenomena")),
        notes={**notes, **votes.notes()},
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
