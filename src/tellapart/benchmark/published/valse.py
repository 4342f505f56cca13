"""VALSE: an image, its caption, and a foil, by linguistic phenomenon.

Parcalabescu et al. 2022. Three people voted on every pair; the files hold all pairs, the valid
ones are those where two or more chose the caption and not the foil (section 4.4).
"""

from __future__ import annotations

from collections import Counter

from tellapart.benchmark.published.fields import SourceRow, entry_rows, json_object, slug
from tellapart.benchmark.published.importer import Importer, ItemCollector
from tellapart.corpus.reader import name_of

FORM = '{id: {"image_file", "caption", "foil", "mturk": {"caption", "foil", "other"}, ...}, ...}'
ENOUGH = 2
"""At least this many of the three must have chosen the caption and not the foil."""

NOTES = ("dataset", "original_split", "classes", "classes_foil")


def votes_of(row: SourceRow) -> dict[str, str]:
    """What three people said of a pair (the caption alone fits, or the foil too), as notes."""
    votes = row.inner("mturk")
    caption, foil = votes.whole("caption"), votes.whole("foil")
    other = votes.whole("other") if votes.has("other") else 0
    confirmed = "yes" if caption >= ENOUGH else "no"
    return {"votes": f"caption {caption}, foil {foil}, other {other}", "confirmed": confirmed}


def confirmed_words(confirmed: int, total: int) -> str:
    """How the card says who verified."""
    return (
        f"by people: three voted on each pair, and for {confirmed:,} of the {total:,} in the files "
        "two or more chose the caption and not the foil"
    )


def read(collector: ItemCollector) -> None:
    """The pairs that were confirmed, or all of them with `keep_all`."""
    counts: Counter[str] = Counter()
    keep_all = collector.options.keep_all

    def add(collector: ItemCollector, row: SourceRow) -> None:
        votes = votes_of(row)
        counts[votes["confirmed"]] += 1
        if keep_all or votes["confirmed"] == "yes":
            collector.add_choice(
                row,
                f"{name_of(row.file)}/{row.key}",
                collector.coco(row, row.text("image_file")),
                (row.text("caption"), row.text("foil")),
                kind=slug(row.text("linguistic_phenomena")),
                notes={**row.notes(*NOTES), **votes},
            )

    for file in collector.files:
        collector.each(entry_rows(file, json_object(file, FORM)), add)
    collector.facts |= {
        "pairs": counts.total(),
        "confirmed": counts["yes"],
        "left_out_unconfirmed": 0 if keep_all else counts["no"],
    }
    collector.verified = confirmed_words(counts["yes"], counts.total())


IMPORTER = Importer(
    name="valse",
    about="VALSE: which caption fits the image, by linguistic phenomenon, confirmed pairs (JSON)",
    read=read,
    endings=("json",),
    page="https://github.com/Heidelberg-NLP/VALSE",
    licence="MIT",
    citation="Letitia Parcalabescu, Michele Cafagna, Lilitta Muradjan, Anette Frank, Iacer "
    "Calixto, Albert Gatt: VALSE: A Task-Independent Benchmark for Vision and Language Models "
    "Centered on Linguistic Phenomena. ACL 2022",
)
